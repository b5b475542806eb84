/**
 * The system call filters of a bwrap sandbox as BPF programs: the same list as `native/helper/seccomp.c`, by number, for
 * a machine that may have no compiler. The first is for the agent and all that comes of it, the second is added by each
 * command. Pure.
 */
import { Failure } from "../../core/errors.ts";
import { ordinaryCalls } from "./seccomp-ordinary.ts";

type Architecture = "x64" | "arm64";

/** x86-64, then arm64; null where an architecture has no such call. */
const DENIED: Readonly<Record<string, readonly [number | null, number | null]>> = {
  unshare: [272, 97],
  setns: [308, 268],
  mount: [165, 40],
  umount2: [166, 39],
  pivot_root: [155, 41],
  chroot: [161, 51],
  open_tree: [428, 428],
  move_mount: [429, 429],
  fsopen: [430, 430],
  fsconfig: [431, 431],
  fsmount: [432, 432],
  fspick: [433, 433],
  mount_setattr: [442, 442],
  open_by_handle_at: [304, 265],
  name_to_handle_at: [303, 264],
  bpf: [321, 280],
  perf_event_open: [298, 241],
  userfaultfd: [323, 282],
  io_uring_setup: [425, 425],
  io_uring_enter: [426, 426],
  io_uring_register: [427, 427],
  keyctl: [250, 219],
  add_key: [248, 217],
  request_key: [249, 218],
  kexec_load: [246, 104],
  kexec_file_load: [320, 294],
  init_module: [175, 105],
  finit_module: [313, 273],
  delete_module: [176, 106],
  swapon: [167, 224],
  swapoff: [168, 225],
  reboot: [169, 142],
  acct: [163, 89],
  quotactl: [179, 60],
  syslog: [103, 116],
  settimeofday: [164, 170],
  clock_settime: [227, 112],
  adjtimex: [159, 171],
  clock_adjtime: [305, 266],
  process_vm_readv: [310, 270],
  process_vm_writev: [311, 271],
  kcmp: [312, 272],
  fanotify_init: [300, 262],
  vhangup: [153, 58],
  move_pages: [279, 239],
  migrate_pages: [256, 238],
  mbind: [237, 235],
  set_mempolicy: [238, 237],
  lookup_dcookie: [212, 18],
  nfsservctl: [180, 42],
  pidfd_getfd: [438, 438],
  io_setup: [206, 0],
  quotactl_fd: [443, 443],
  memfd_secret: [447, 447],
  set_mempolicy_home_node: [450, 450],
  statmount: [457, 457],
  listmount: [458, 458],
  open_tree_attr: [467, 467],
  iopl: [172, null],
  ioperm: [173, null],
  modify_ldt: [154, null],
  uselib: [134, null],
  ustat: [136, null],
  sysfs: [139, null],
  _sysctl: [156, null],
};

const CALLS = {
  x64: { audit: 0xc000_003e, clone: 56, clone3: 435, ioctl: 16, socket: 41, prlimit64: 302, setrlimit: 160 },
  arm64: { audit: 0xc000_00b7, clone: 220, clone3: 435, ioctl: 29, socket: 198, prlimit64: 261, setrlimit: 164 },
} as const;

/** Root of a sandbox has the agent's user id, by which alone the kernel lets it set these of PID 1: by which argument. */
const OF_THE_AGENT: readonly {
  readonly numbers: readonly [number, number];
  readonly index: number;
  readonly value: number;
}[] = [
  { numbers: [302, 261], index: 0, value: 1 }, // prlimit64
  { numbers: [144, 119], index: 0, value: 1 }, // sched_setscheduler
  { numbers: [142, 118], index: 0, value: 1 }, // sched_setparam
  { numbers: [314, 274], index: 0, value: 1 }, // sched_setattr
  { numbers: [203, 122], index: 0, value: 1 }, // sched_setaffinity
  { numbers: [141, 140], index: 1, value: 1 }, // setpriority, of PID 1
  { numbers: [141, 140], index: 0, value: 2 }, // setpriority, of a whole user
  { numbers: [251, 30], index: 1, value: 1 }, // ioprio_set, of PID 1
  { numbers: [251, 30], index: 0, value: 3 }, // ioprio_set, of a whole user
];

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
/** Every namespace flag of clone(2). */
const NAMESPACE_FLAGS = 0x7e02_0000;
const [AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, NETLINK_ROUTE] = [1, 2, 10, 16, 0];
const RLIMIT_CORE = 4;
const RLIMIT_RTTIME = 15;
const X32_BIT = 0x4000_0000;

const CALLS_END = 512;

const ARCH_AT = 4;
const NUMBER_AT = 0;
const argumentAt = (index: number): number => 16 + index * 8;

class Program {
  readonly #instructions: Buffer[] = [];

  #add(code: number, value: number, yes = 0, no = 0): void {
    const instruction = Buffer.alloc(8);
    instruction.writeUInt16LE(code, 0);
    instruction.writeUInt8(yes, 2);
    instruction.writeUInt8(no, 3);
    instruction.writeUInt32LE(value >>> 0, 4);
    this.#instructions.push(instruction);
  }

  load(offset: number): void {
    this.#add(0x20, offset);
  }

  equal(value: number, yes: number, no: number): void {
    this.#add(0x15, value, yes, no);
  }

  atLeast(value: number, yes: number, no: number): void {
    this.#add(0x35, value, yes, no);
  }

  anyBit(value: number, yes: number, no: number): void {
    this.#add(0x45, value, yes, no);
  }

  answer(error: number): void {
    this.#add(0x06, 0x0005_0000 + error);
  }

  allow(): void {
    this.#add(0x06, 0x7fff_0000);
  }

  bytes(): Buffer {
    return Buffer.concat(this.#instructions);
  }
}

export interface SeccompPrograms {
  readonly agent: Buffer;
  readonly command: Buffer;
  /** In the place of `command` where the strict profile was asked for. */
  readonly strictCommand: Buffer;
}

/** Throws `environment_missing` for an architecture whose numbers are not known. */
export function seccompPrograms(architecture: string = process.arch): SeccompPrograms {
  if (architecture !== "x64" && architecture !== "arm64")
    throw new Failure("environment_missing", `The bwrap provider knows x64 and arm64, not "${architecture}".`);
  return {
    agent: agentProgram(architecture),
    command: commandProgram(architecture, false),
    strictCommand: commandProgram(architecture, true),
  };
}

function agentProgram(architecture: Architecture): Buffer {
  const calls = CALLS[architecture];
  const program = new Program();
  program.load(ARCH_AT);
  program.equal(calls.audit, 1, 0);
  program.answer(ENOSYS);
  program.load(NUMBER_AT);
  program.atLeast(X32_BIT, 0, 1);
  program.answer(ENOSYS);
  for (const numbers of Object.values(DENIED)) {
    const number = numbers[architecture === "x64" ? 0 : 1];
    if (number === null) continue;
    program.equal(number, 0, 1);
    program.answer(EPERM);
  }
  for (const { numbers, index, value } of OF_THE_AGENT) {
    program.equal(numbers[architecture === "x64" ? 0 : 1], 0, 4);
    program.load(argumentAt(index));
    program.equal(value, 0, 1);
    program.answer(EPERM);
    program.load(NUMBER_AT);
  }
  program.equal(calls.clone, 0, 4);
  program.load(argumentAt(0));
  program.anyBit(NAMESPACE_FLAGS, 0, 1);
  program.answer(EPERM);
  program.allow();
  program.equal(calls.ioctl, 0, 5);
  program.load(argumentAt(1));
  program.equal(TIOCSTI, 1, 0);
  program.equal(TIOCLINUX, 0, 1);
  program.answer(EPERM);
  program.allow();
  filterSockets(program, calls.socket);
  return program.bytes();
}

/** Unix, IPv4, IPv6 and route netlink; a network namespace does not cover VSOCK or ALG. */
function filterSockets(program: Program, socket: number): void {
  program.equal(socket, 1, 0);
  program.allow();
  program.load(argumentAt(0));
  program.equal(AF_UNIX, 4, 0);
  program.equal(AF_INET, 3, 0);
  program.equal(AF_INET6, 2, 0);
  program.equal(AF_NETLINK, 2, 0);
  program.answer(EAFNOSUPPORT);
  program.allow();
  program.load(argumentAt(2));
  program.equal(NETLINK_ROUTE, 0, 1);
  program.allow();
  program.answer(EAFNOSUPPORT);
}

/**
 * The flags of clone3 lie behind a pointer, where no filter can read them, so it is refused and libc falls back. Two
 * limits nobody may change, the calls succeed and do nothing: a core limit of one byte, and the mark of a command.
 */
function commandProgram(architecture: Architecture, isStrict: boolean): Buffer {
  const calls = CALLS[architecture];
  const program = new Program();
  program.load(NUMBER_AT);
  program.equal(calls.clone3, 0, 1);
  program.answer(ENOSYS);
  program.equal(calls.prlimit64, 0, 10);
  program.load(argumentAt(1));
  program.equal(RLIMIT_CORE, 2, 0);
  program.equal(RLIMIT_RTTIME, 1, 0);
  program.allow();
  /* Both halves of a pointer, which is null for a mere question. */
  program.load(argumentAt(2));
  program.equal(0, 0, 3);
  program.load(argumentAt(2) + 4);
  program.equal(0, 0, 1);
  program.allow();
  program.answer(0);
  program.equal(calls.setrlimit, 0, 5);
  program.load(argumentAt(0));
  program.equal(RLIMIT_CORE, 1, 0);
  program.equal(RLIMIT_RTTIME, 0, 1);
  program.answer(0);
  program.allow();
  if (isStrict) refuseUnlisted(program, architecture);
  else program.allow();
  return program.bytes();
}

/**
 * What is denied to all keeps the other filter's EPERM; what is merely not listed answers ENOSYS, so that libraries do
 * what they would on an older kernel. Numbers that follow one another share one test.
 */
function refuseUnlisted(program: Program, architecture: Architecture): void {
  const denied = Object.values(DENIED).map((numbers) => numbers[architecture === "x64" ? 0 : 1]);
  const passed = new Set<number | null>([...ordinaryCalls(architecture), ...denied]);
  for (let from = 0, to = 0; from < CALLS_END; from = to + 1) {
    to = from;
    if (!passed.has(from)) continue;
    while (to + 1 < CALLS_END && passed.has(to + 1)) to += 1;
    program.atLeast(from, 1, 0);
    program.answer(ENOSYS);
    program.atLeast(to + 1, 1, 0);
    program.allow();
  }
  program.answer(ENOSYS);
}
