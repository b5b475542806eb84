/*
 * The sandbox helper: one static program, used twice. Outside it is the zygote, which makes sandboxes and removes
 * what they leave; inside each sandbox it is the agent, PID 1, which runs commands and answers over one channel.
 * This header holds what both sides share: the frames, the request and the descriptors of the control groups.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A frame is u32 bytes, u32 channel, u16 type, u16 flags (all little-endian), then `bytes` of payload. */
#define FRAME_HEADER 12
#define PAYLOAD_MAX 65536
#define FLAG_MORE 1 /* the request goes on in the next frame of the same channel */

#define RELAY_HALF 1 /* no more bytes from this side; the other goes on */
#define RELAY_DONE 2 /* send what is left, take nothing more, then close */

enum frame_type {
  FRAME_CREATE = 1,
  FRAME_EXEC = 2,
  FRAME_INPUT = 3,
  FRAME_SIGNAL = 4,
  FRAME_CANCEL = 5,
  FRAME_STATS = 6,
  FRAME_FREEZE = 7,
  FRAME_SHELL_RUN = 8,
  FRAME_RESIZE = 9,         /* of a terminal: u32 columns, u32 rows */
  FRAME_OUTPUT_CREDIT = 10, /* flags: the stream; u32 bytes the other side took */
  FRAME_PING = 11,          /* answered by an empty reply */
  FRAME_TRACE = 12,         /* to the zygote, in the place of a create frame: see trace.c */
  FRAME_RELAY = 16, /* flags: the port to listen on; 0 stops it */
  FRAME_RELAY_SEND = 17,
  FRAME_RELAY_CLOSE = 18, /* flags: RELAY_HALF, RELAY_DONE, or 0 to cut it short */
  FRAME_RELAY_CREDIT = 19,
  FRAME_READY = 33,
  FRAME_OUTPUT = 34,
  FRAME_EXIT = 35,
  FRAME_CREDIT = 36,
  FRAME_REPLY = 37,
  FRAME_GONE = 38,
  FRAME_ERROR = 39,
  FRAME_SHELL_DONE = 40,
  FRAME_RELAY_OPENED = 48,
  FRAME_RELAY_DATA = 49,
  FRAME_RELAY_CLOSED = 50,
  FRAME_RELAY_TAKEN = 51,
};

/* Sandbox uid 0 is this host uid; the range is shared by all sandboxes because their read-only layers are. */
#define SUB_UID 100000
#define SUB_UID_COUNT 65536
#define PROCESS_READERS_GID 65533 /* of the sandbox: sees the processes of all its users in /proc */

#define LOWERS_BYTES 3072
struct box_request {
  char id[64];
  uint64_t memory_bytes, disk_bytes, shm_bytes;
  uint64_t files_max, processes_max, cpu_quota_us;
  bool is_strict; /* only the calls of seccomp-allowed.c */
  unsigned cores, first_core, shape; /* chosen by machine_choose */
  bool shows_top; /* the agent takes the topmost layer for what was written here */
  bool binds_system; /* the host's system folders lie over the image */
  bool from_blank; /* may be made of a blank, and tells that more will be asked for */
  uint64_t lifetime_ms; /* 0: none */
  char lowers[LOWERS_BYTES]; /* folders of the image store, top first, separated by commas */
  char layers[LOWERS_BYTES]; /* sealed layers above them, likewise */
  char fault[24]; /* the step after which this creation is made to fail, of tests only */
  int fault_error;
};

/* What a new sandbox writes to and stands on, as detached mounts lent to its child. */
#define LAYERS_MAX 128
#define LAYER_NAME_BYTES 32
#define STORAGE_INODES 16 /* of its own folders, beside what the request allows */
struct box_storage {
  int own, lent; /* the tmpfs itself, which the zygote keeps, and its clone; -1 where the child mounts one */
  int layers[LAYERS_MAX], layer_count;
};

/* Descriptors of one sandbox's groups, opened by the zygote as host root, so the agent may use them without a path. */
#define JOIN_MAX 4
struct box_groups {
  int join[JOIN_MAX]; /* v1 `tasks` files: writing "0" moves the writer */
  int park[JOIN_MAX]; /* the same for the owner's groups, where the agent itself stays */
  int join_count;
  int leaf_join, leaf_park; /* where leaves are v1: the group above them, entered only to begin the namespace; or -1 */
  int leaf_root; /* folder in which the agent makes one group per command; -1 where there is none */
  bool leaf_kills; /* the leaves have cgroup.kill (v2) */
  bool counts_agent; /* in a container: the agent itself is counted with the commands */
  int clone_into; /* v2 folder the agent is cloned into, or -1 */
  int oom_events, memory_now, memory_peak, pids_now, pids_events, cpu_stat, cpu_events; /* readable counters or -1 */
};

/* groups.c: the control group drivers (v1, v2 and hybrid) */
void groups_open(const char *owner);
const char *groups_report(void);
int groups_create(const struct box_request *request, struct box_groups *out); /* 0, or -1 with errno; undone on error */
void groups_close(struct box_groups *groups);
const char *groups_hide(struct box_groups *groups); /* run by the agent; NULL, or the step that failed */
bool groups_remove(const char *id); /* false while a process still holds one */
void groups_remove_owner(void);
bool remove_folder(int parent, const char *name); /* with all below it; true once it is gone */
int groups_freezer(const char *id); /* the group of a sandbox's commands where it can be frozen, or -1 with errno */

/* zygote.c: the loop; boxes.c: sandboxes from their clone until nothing is left of them; request.c */
int zygote_main(int argc, char **argv);
void zygote_abandon(const char *step) __attribute__((noreturn)); /* tells errno, undoes the start, ends */
void zygote_say_gone(int channel, int status, bool is_expired); /* takes the channel over */
bool request_parse(const char *text, size_t bytes, struct box_request *out); /* false: malformed */
void staging_prepare(const char *store, const char *run_folder);
void box_create(const struct box_request *request, int channel);
void box_kill(const char *id); /* every one with NULL */
void box_copy(const char *id, const char *layer); /* copies a live one's storage into the layer while it is frozen */
bool box_seal(const char *id, const char *layer); /* its storage becomes the layer when it has ended */
void boxes_reap(void);
void boxes_blanks(unsigned most); /* as many blanks are kept while they are asked for */
bool boxes_want_blank(void);
void boxes_make_blank(void);
bool boxes_clear(void); /* false while some group of an ended sandbox could not be removed yet */
void box_expire(const char *id, uint64_t ms); /* so long from now */
int boxes_expire(void); /* ends those past their lifetime; milliseconds to the next, or -1 */
bool boxes_are_left(void);

/* create.c: the sandbox's PID 1, or -1 with errno and `step` naming what failed; undone on error. Where its layers are not
   sealed yet it waits for a byte at `go`, which is left alone otherwise. Without a channel (-1) it is a blank, which waits
   at `go` for what blank_give sends, then for the byte. */
pid_t box_clone(const struct box_request *request, int channel, struct box_storage *storage, int *go, const char **step);
bool blank_give(int blank, const struct box_request *request, int channel, const struct box_storage *storage);
bool blank_await(int blank, struct box_request *request, int *channel, struct box_storage *storage); /* run by the blank */
bool fault_at(const struct box_request *request, const char *step); /* true with errno: fail here */

/* layers.c */
enum layer_state { LAYERS_READY, LAYERS_PENDING, LAYERS_UNKNOWN };
bool layers_open(void); /* whether this kernel can lend detached mounts; called once */
int storage_make(uint64_t bytes, uint64_t files); /* a detached tmpfs, or -1 */
void storage_free(int mount); /* closes it, in the background where that takes long */
bool storage_open(const struct box_request *request, struct box_storage *out);
void storage_close(struct box_storage *storage); /* all but `own` */
const char *storage_attach(const struct box_request *request, const struct box_storage *storage); /* in the child */
bool layer_announce(const char *name, int mount); /* false: a bad name, or taken; the mount is lent before it is filled */
void layer_fill(const char *name, int mount); /* takes the mount over, also when the layer was dropped meanwhile */
void layer_drop(const char *name);
enum layer_state layers_state(const char *names);
void layers_merge(const char *name, const char *names); /* tells the owner how it ended */

/* merges.c, merge.c: one layer made of several mounts, or of a sandbox frozen by the group `freezer` (-1: none) */
void merge_start(const char *name, const int *mounts, int count, int freezer);
void merge_reaped(pid_t pid, int status);
void merges_kill(void);
bool merge_folders(const int *sources, int count, int target); /* run in a child; false with errno */

/* trace.c */
pid_t box_pid(const char *id); /* of a live sandbox's first process, or 0 */
void trace_start(int channel, pid_t pid, const char *text, size_t bytes); /* takes the channel over */

/* tags.c: before the host's /proc is out of sight */
bool tags_open(void);

/* container.c: the agent as the first process of a container that an engine made */
int container_main(int argc, char **argv);

/* machine.c: the machine a sandbox sees. Opened in the staging root; false with errno */
bool machine_open(void);
bool machine_choose(struct box_request *request);
bool machine_pin(pid_t pid, const struct box_request *request);
const char *machine_enter(const struct box_request *request); /* run by the agent, with BOX_ROOT's /proc mounted */

/* maps.c */
const char *maps_enter(void); /* by the zygote of an ordinary user: a namespace of its own; NULL, or the step that failed */
const char *maps_report(void); /* root, range or self */
bool maps_are_root(void);
uid_t maps_box_root(void); /* the sandbox's root as the zygote sees it */
bool maps_write(pid_t pid); /* false with errno */
bool maps_become_root(void); /* by the sandbox's first process, once the maps are written */
int maps_inside(int argc, char **argv);

/* rootfs.c, views.c, confine.c: the agent's own preparation; each returns NULL or the name of the step that failed */
#define BOX_ROOT "/box/root" /* of the sandbox, before it is pivoted to */
const char *rootfs_enter(const struct box_request *request, const struct box_storage *storage);
extern int upper_folder; /* of the agent: its own layer, opened before the root was pivoted; -1 in a container */
extern uint64_t storage_files; /* files and folders of that storage before the first command */
extern int lower_folders[], lower_count; /* what it stands on, top first: sealed layers, then the image */
const char *views_mount(const struct box_request *request);
const char *confine_early(void);
bool confine_processes(uint64_t most); /* by the kernel's count per user, where no group counts them */
const char *confine_late(bool is_strict);
const char *seccomp_install(bool is_strict); /* for the agent and all that comes of it */
bool seccomp_for_command(void); /* in addition, for each command, with the strict profile's list */
#define CALLS_END 512
bool seccomp_is_ordinary(int number);

/* agent.c: never returns. The channel is one socket given twice, or what is read and what is written apart. */
void agent_main(int from, int to, const struct box_groups *groups, const struct box_request *request) __attribute__((noreturn));

/* frame.c */
void frame_header(uint8_t *to, uint32_t bytes, uint32_t channel, uint16_t type, uint16_t flags);
void frame_send_now(int socket, uint32_t channel, uint16_t type, const void *payload, uint32_t bytes);
uint64_t clock_us(void);
bool write_text(int folder, const char *name, const char *text); /* one write to folder/name */
