/** Real sandboxes on images of every source this machine can build from. */
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, type TestContext, test } from "vitest";
import type { Sandbox, SandboxProvider } from "../../src/core/sandbox.ts";
import { systemRuntime } from "../../src/runtime/system.ts";
import { openImageStore } from "../../src/sandbox/image/image-store.ts";
import { namespaceProvider } from "../../src/sandbox/provider-namespace.ts";
import { output, REQUEST } from "../conformance/sandbox-parts.ts";
import { MISSING, testUnless } from "../support/unless.ts";

const isLong = process.env["SANDLOT_TEST_SIZE"] === "long";
const isRoot = process.geteuid?.() === 0;
const runtime = systemRuntime();

let folder: string;
let provider: SandboxProvider;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandlot-images-"));
  provider = namespaceProvider({ runtime, imageFolder: join(folder, "store") });
});
afterEach(async () => {
  await provider.close();
  rmSync(folder, { recursive: true });
});

async function onImage<T>(image: string, use: (sandbox: Sandbox) => Promise<T>, memoryBytes = 128 << 20): Promise<T> {
  const limits = {
    ...REQUEST.limits,
    memoryBytes,
    diskBytes: 256 << 20,
    filesMax: 20_000,
    processesMax: 256,
    shmBytes: 64 << 20,
  };
  const sandbox = await provider.create({ ...REQUEST, image, limits }, new AbortController().signal);
  try {
    return await use(sandbox);
  } finally {
    await sandbox.destroy();
  }
}

/** A tree with a few of the machine's programs and the libraries they load. */
function tinyTree(): string {
  const root = join(folder, "tree");
  const programs = ["sh", "true", "cat", "ls", "rm", "id"].map((name) =>
    spawnSync("which", [name]).stdout.toString().trim(),
  );
  const libraries = programs.flatMap(
    (path) =>
      execFileSync("ldd", [path])
        .toString()
        .match(/\/\S+\.so\S*/g) ?? [],
  );
  for (const path of new Set([...programs, ...libraries])) {
    const target = join(root, path.startsWith("/usr/bin/") ? path.slice(4) : path);
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(path, target);
  }
  mkdirSync(join(root, "app"), { recursive: true });
  writeFileSync(join(root, "app/greeting"), "hello from the image\n");
  return root;
}

testUnless(MISSING.root)("a sandbox runs on a folder, on a tar file of it, and on layers on top", async () => {
  const root = tinyTree();
  execFileSync("tar", ["--zstd", "-C", root, "-cf", join(folder, "tree.tar.zst"), "."]);
  const hashes: string[] = [];
  for (const image of [`folder:${root}`, `tar:${join(folder, "tree.tar.zst")}`]) {
    await onImage(image, async (sandbox) => {
      hashes.push(sandbox.info.imageHash);
      expect(await output(sandbox, "cat /app/greeting; rm /app/greeting; ls /app")).toBe("hello from the image\n");
    });
  }
  expect(new Set(hashes).size).toBe(1);

  const store = openImageStore({ runtime, folder: join(folder, "store") });
  try {
    const base = await store.resolve(`folder:${root}`);
    const layer = await onImage(base.reference, async (sandbox) => {
      await output(sandbox, "rm /app/greeting; echo new >/app/other; echo kept >/home/agent/note");
      const parts: Uint8Array[] = [];
      for await (const part of sandbox.exportLayer()) parts.push(part);
      return parts;
    });
    const derived = await store.derive(
      base,
      (async function* () {
        yield* layer;
      })(),
    );
    await onImage(derived.reference, async (sandbox) => {
      expect(await output(sandbox, "ls /app; cat /home/agent/note")).toBe("other\nkept\n");
    });
    for (const { hash } of await store.list()) expect(await store.verify(hash)).toMatchObject({ isIntact: true });
  } finally {
    await store.close();
  }
});

testUnless(MISSING.root)("an engine's Dockerfile is built once and runs without it", async (context) => {
  if (spawnSync("buildah", ["--version"]).status !== 0) return context.skip("buildah is not installed");
  const root = tinyTree();
  execFileSync("tar", ["-C", root, "-cf", join(folder, "rootfs.tar"), "."]);
  const build = join(folder, "build");
  mkdirSync(build);
  cpSync(join(folder, "rootfs.tar"), join(build, "rootfs.tar"));
  const lines = [
    "FROM scratch",
    "ADD rootfs.tar /",
    "ENV GREETING=bonjour",
    "WORKDIR /app",
    "RUN echo built >/app/made && rm /app/greeting",
  ];
  writeFileSync(join(build, "Dockerfile"), `${lines.join("\n")}\n`);
  await onImage(`dockerfile:${build}`, async (sandbox) => {
    expect(await output(sandbox, "ls /app; cat /app/made")).toBe("made\nbuilt\n");
  });
  const store = openImageStore({ runtime, folder: join(folder, "store") });
  try {
    const image = await store.resolve(`dockerfile:${build}`);
    expect([image.envVars["GREETING"], image.workdir]).toEqual(["bonjour", "/app"]);
    writeFileSync(join(build, "Dockerfile"), `${lines.slice(0, 2).join("\n")}\n\nRUN cat /no/such/file\n`);
    await store.close();
    await expect(
      openImageStore({ runtime, folder: join(folder, "store") }).resolve(`dockerfile:${build}`),
    ).rejects.toMatchObject({
      code: "image_unavailable",
      message: expect.stringMatching(/Dockerfile:4: the step "RUN cat \/no\/such\/file"/),
    });
  } finally {
    await store.close();
  }
});

/** Says why packages cannot be had here, or null. */
function whyNoPackages(): string | null {
  if (spawnSync("mmdebstrap", ["--version"]).status !== 0) return "mmdebstrap is not installed";
  const apt = "/usr/lib/apt/apt-helper";
  if (!existsSync(apt)) return "the machine has no apt";
  const url = "http://deb.debian.org/debian/dists/bookworm/InRelease";
  const end = spawnSync(
    apt,
    ["-o", "Acquire::http::Timeout=10", "-o", "Acquire::Retries=0", "download-file", url, join(folder, "InRelease")],
    { timeout: 30_000 },
  );
  return end.status === 0 ? null : "no mirror of Debian can be reached";
}

function needPackages(context: TestContext): void {
  const reason = isRoot ? whyNoPackages() : "packages are installed by root here";
  if (reason !== null) context.skip(reason);
}

test("a sandbox runs on Debian packages, whose versions are locked", { timeout: 900_000 }, async (context) => {
  needPackages(context);
  const reference = "debian:bookworm+jq";
  await onImage(reference, async (sandbox) => {
    expect(await output(sandbox, `printf '{"a":[1,2]}' | jq -c .a; . /etc/os-release; echo $VERSION_CODENAME`)).toBe(
      "[1,2]\nbookworm\n",
    );
    expect(await output(sandbox, "id -u agent verifier subject")).toBe("1000\n1001\n1002\n");
    expect(await output(sandbox, "grep -c . /usr/share/sandlot/packages.lock")).toMatch(/^\d{2,}\n$/);
  });
  const store = openImageStore({ runtime, folder: join(folder, "store") });
  try {
    const lock = await store.lockOf(await store.resolve(reference));
    expect(lock).toMatch(/^jq \S+ \S+ [0-9a-f]{64}$/m);
  } finally {
    await store.close();
  }
});

const BROKEN: readonly (readonly [string, string, RegExp])[] = [
  [
    "a package",
    'suite = "bookworm"\npackages = [\n  "jq",\n  "no-such-package-at-all",\n]\n',
    /broken\.toml:4: packages\[1\]: package "no-such-package-at-all" is not in bookworm/,
  ],
  [
    "a command",
    'suite = "bookworm"\nrun = [\n  "true",\n  "echo deliberate >&2; false",\n]\n',
    /broken\.toml:4: run\[1\] failed/,
  ],
];

test.for(BROKEN)(
  "a recipe that fails by %s names its line and keeps the log",
  { timeout: 900_000 },
  async ([, text, reason], context) => {
    if (!isLong) context.skip("each takes a mirror and a minute; npm run test:long does it");
    needPackages(context);
    const file = join(folder, "broken.toml");
    writeFileSync(file, text);
    const failure = await provider
      .create({ ...REQUEST, image: `recipe:${file}` }, new AbortController().signal)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "image_unavailable", message: expect.stringMatching(reason) });
    const log = /The whole log: (\S+)/.exec(String(failure))?.[1] ?? "";
    expect(existsSync(log)).toBe(true);
  },
);

const SERVICES: readonly (readonly [string, string, RegExp])[] = [
  ["PostgreSQL", 'pg_ctlcluster 15 main start && runuser -u postgres -- psql -tAc "select 6*7"', /: 42$/m],
  [
    "Redis",
    'redis-server --daemonize yes --save "" >/dev/null; until redis-cli ping 2>/dev/null; do sleep 0.1; done',
    /PONG/,
  ],
  ["nginx", 'nginx && curl -s -o /dev/null -w "%{http_code}" http://127.0.0.1/', /200/],
  [
    "Mosquitto",
    "mosquitto -d; sleep 0.5; mosquitto_sub -t t -C 1 & sleep 0.5; mosquitto_pub -t t -m carried; wait",
    /carried/,
  ],
  [
    "rsyslog",
    "rsyslogd; until [ -S /run/dev-log ]; do sleep 0.1; done; logger noted-by-the-log; sleep 1; cat /var/log/syslog",
    /noted-by-the-log/,
  ],
  [
    "cron",
    "cron; printf '* * * * * root date >/tmp/fired\\n' >/etc/cron.d/x; chmod 644 /etc/cron.d/x; for i in $(seq 130); do [ -e /tmp/fired ] && break; sleep 0.5; done; ls /tmp",
    /fired/,
  ],
  [
    "pytest",
    "mkdir -p /app && cd /app && echo 'def test_a(): assert 1' >test_a.py && python3 -m pytest -q 2>&1",
    /1 passed/,
  ],
];

test("the services that tasks about operations need start on the ops image", {
  timeout: 1_500_000,
}, async (context) => {
  if (!isLong) context.skip("the ops image is built by npm run test:long");
  needPackages(context);
  await onImage(
    "recipe:ops",
    async (sandbox) => {
      for (const [name, command, answer] of SERVICES)
        expect(`${name}: ${await output(sandbox, command, { timeoutMs: 90_000 })}`).toMatch(answer);
    },
    512 << 20,
  );
});
