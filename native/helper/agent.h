/*
 * Inside a sandbox: what the files of the agent share. The agent is one thread around epoll; a *job* is a command, a
 * kept shell or a file operation, always a child process in the group of the commands, never work done by PID 1.
 */
#pragma once
#include "helper.h"
#include <sys/resource.h>

#define PIPES_MAX 8
#define PIPE_FD_MAX 255
#define STREAMS_MAX (3 + 2 * PIPES_MAX)
#define REQUEST_MAX (4u << 20)
#define REQUEST_FIXED 40 /* bytes of a request before its pipes */
#define INPUT_WINDOW 262144 /* bytes a caller may send ahead of its credit, per input stream */
#define OUTPUT_WINDOW 262144 /* bytes a stream may send ahead of what the other side took */
#define BETWEEN_RUNS_MAX 65536 /* output of a kept shell's background children, held for the next run */

enum job_kind {
  JOB_COMMAND = 0, JOB_READ = 1, JOB_WRITE = 2, JOB_LIST = 3, JOB_SHELL = 4,
  JOB_STAT = 5, JOB_MKDIR = 6, JOB_RENAME = 7, JOB_REMOVE = 8, JOB_CHMOD = 9, JOB_READ_RANGE = 10,
  JOB_UPLOAD = 11, JOB_DOWNLOAD = 12, JOB_WATCH = 13, JOB_DIFF = 14, JOB_LAYER = 15, JOB_PROCESSES = 21
};
enum job_flag { TIMED_OUT = 1, IDLE_TIMED_OUT = 2, OOM_KILLED = 4, OUTPUT_LIMIT = 8, CANCELLED = 16 };
enum job_phase { RUNNING, GRACE, KILLED };
enum start_error { NOT_FOUND = 1, NOT_EXECUTABLE, IS_DIRECTORY, BAD_INTERPRETER, BAD_CWD, TOO_LONG, PROCESS_LIMIT };

struct chunk {
  struct chunk *next;
  uint32_t at, bytes;
  uint8_t data[];
};

struct leaf {
  struct leaf *next;
  unsigned number;
  bool is_spent;
  bool is_mark; /* no group: its processes are found by their mark, see tags.c */
  int folder, procs, kill;
  int tasks;  /* v1: where a child joins; v2 children are born inside */
  int events; /* v1 counts a refused fork where it happened, v2 in the group with the limit */
  int memory_events, memory_peak; /* v2 with a memory controller of its own, else -1 */
  bool is_known_empty, is_fresh;
};

struct job;
struct stream {
  struct job *job;
  int fd; /* -1 once closed */
  uint16_t name; /* its number in the command */
  bool is_input, is_report, is_terminal, is_watched, input_ended;
  bool is_last; /* the command ended: only `left` more bytes are its own */
  uint8_t last_byte;
  uint64_t cap, sent, dropped, left;
  int64_t credit;
  uint32_t owed; /* input taken by the command, not yet told to the sender */
  struct chunk *first, *last;
};

/* One run of a kept shell. */
struct shell_run {
  bool is_active;
  char token[17], report[64];
  size_t report_bytes;
  uint64_t killed_us;
  pid_t *before; /* processes of earlier runs, which a timeout spares */
  size_t before_count;
};

struct job {
  struct job *next;
  uint32_t id, uid, gid;
  pid_t pid;
  uint8_t kind;
  bool kills_at_limit, kills_descendants, is_reaped, is_draining, is_finished;
  enum job_phase phase;
  uint32_t flags, grace_ms, idle_ms;
  uint64_t started_us, ended_us, deadline_us, idle_us, phase_us;
  uint64_t oom_before, leaf_oom_before, limit_before;
  bool has_peak;
  struct leaf *leaf;
  volatile uint8_t *error; /* where the child says why it could not start; NULL once told */
  int status;
  struct rusage usage;
  struct stream streams[STREAMS_MAX];
  int stream_count;
  struct shell_run run;
};

/* A request as decoded from its frames; the strings lie in the frame buffer. */
struct exec_request {
  uint8_t kind, kills_at_limit, kills_descendants, has_input;
  uint32_t uid, gid, timeout_ms, idle_ms, grace_ms;
  uint64_t cap;
  uint32_t pipe_count;
  uint16_t columns, rows; /* of its terminal; 0 without one */
  struct { uint32_t fd, ways; } pipes[PIPES_MAX]; /* ways: 1 the command reads, 2 it writes */
  const char *cwd;
  char **argv, **envp;
  uint32_t argc;
};

struct frame {
  uint32_t bytes, channel;
  uint16_t type, flags;
  uint8_t *payload;
};

/* A request that may come in several frames, with a NUL behind it. */
struct gathered {
  uint8_t *bytes;
  size_t length;
  bool is_lost; /* too long; the rest of it is passed over */
};

/* job-request.c */
enum frame_state { FRAME_WHOLE, FRAME_PART, FRAME_BAD };
enum gather_state { GATHER_MORE, GATHER_DONE, GATHER_TOO_LONG };
enum frame_state frame_take(uint8_t *from, size_t length, struct frame *frame);
enum gather_state request_gather(struct gathered *to, const struct frame *frame);
void request_reset(struct gathered *to);
bool request_decode(uint8_t *payload, size_t bytes, struct exec_request *to); /* false when it is none; then free it too */
void request_free(struct exec_request *request);

/* agent.c */
extern struct job *jobs;
extern struct box_groups groups;
extern uint64_t processes_max;
void send_frame(uint32_t channel, uint16_t type, uint16_t flags, const void *payload, uint32_t bytes);
uint8_t *reserve_payload(void); /* room for one whole payload; commit_payload sends it */
void commit_payload(uint32_t channel, uint16_t type, uint16_t flags, uint32_t bytes);
void watch_stream(struct stream *stream);
void unwatch_stream(struct stream *stream);
void close_stream(struct stream *stream);

void watch_relay(int fd, bool is_watched); /* with the streams: not read while the channel is full */

/* relay.c */
void relay_frame(uint32_t channel, uint16_t type, uint16_t flags, const uint8_t *payload, uint32_t bytes);
void relay_ready(void);
void relay_stop(void); /* closes every connection and the listeners */

/* counters.c */
uint64_t read_counter(int fd, const char *key); /* a number, or the number after `key` in a keyed file; 0 if absent */
void send_stats(uint32_t channel);

/* tags.c: a command's tree without a group, by a mark of its processes */
extern int process_folder; /* a /proc that shows every process, or -1 */
struct process_usage {
  uint64_t count, bytes, largest_bytes; /* the agent left out; pages of files left out */
  pid_t largest;
};
bool tag_set(unsigned number);
size_t tag_pids(unsigned number, pid_t *out, size_t max);
bool process_usage(struct process_usage *to, bool is_exact); /* exact: pages of several processes are told once */

/* watchdog.c: the memory limit where no group keeps it */
void watchdog_open(uint64_t memory_bytes); /* 0: none */
uint64_t watchdog_tick(uint64_t now); /* when it wants to look again */
bool watchdog_usage(struct process_usage *to); /* false where groups count */
uint64_t watchdog_peak(void);
uint64_t oom_kills(void);

/* leaf.c */
struct leaf *leaf_take(void);
void leaf_give(struct leaf *leaf);
bool leaf_is_empty(const struct leaf *leaf);
size_t leaf_pids(const struct leaf *leaf, pid_t *out, size_t max);
void leaf_kill(struct leaf *leaf);
uint64_t leaf_limit_hits(const struct leaf *leaf);
size_t leaf_count(struct leaf *leaf); /* processes in it; knows an empty one until it is used again */
bool leaf_reset_peak(struct leaf *leaf); /* whether its memory peak will be of one command alone */

/* job-start.c */
void job_start(uint32_t id, uint8_t *payload, size_t bytes);
void job_refuse(uint32_t id, enum start_error error);

/* child.c */
struct end {
  int fd, target;
  bool is_copy; /* of another end's descriptor */
};
struct start {
  const struct job *job;
  const struct exec_request *request;
  struct end *ends;
  int count;
};
pid_t child_start(struct start *start, bool is_alone); /* is_alone: no other process of the sandbox could stop the child */

/* pty.c */
int terminal_open(const struct exec_request *request, int *command_side); /* the agent's side, or -1 */
void terminal_resize(int fd, uint16_t columns, uint16_t rows);

/* processes.c: run in a child; never returns */
void list_processes(void) __attribute__((noreturn));

/* stream.c */
void job_input(uint32_t id, uint16_t name, const uint8_t *bytes, uint32_t length);
void job_push(struct stream *stream, const void *bytes, uint32_t length);
void stream_credit(uint32_t id, uint16_t name, const uint8_t *bytes, uint32_t length);
void stream_ready(struct stream *stream);
void stream_drain(struct stream *stream); /* all that a pipe holds now, also beyond the credit */
bool stream_finish(struct stream *stream); /* true once what the command left in it is sent */

/* job.c */
void job_over_limit(struct job *job);
void job_reaped(pid_t pid, int status, const struct rusage *usage);
void job_stopped(pid_t pid); /* file operations go on: nobody of the sandbox may hold them up */
void job_signal(uint32_t id, int signal);
void job_resize(uint32_t id, const uint8_t *payload, uint32_t bytes);
void job_cancel(uint32_t id);
void job_end_tree(struct job *job); /* SIGKILL for the command and everything that came of it */
uint64_t jobs_tick(uint64_t now); /* the next moment something is due, or UINT64_MAX */
struct job *job_find(uint32_t id);
struct stream *job_stream(struct job *job, uint16_t name, bool is_input);

/* shell.c */
void shell_run(uint32_t id, const uint8_t *payload, size_t bytes);
void shell_report(struct job *job);
bool shell_tick(struct job *job, uint64_t now); /* true while it has a run under way */

/* files.c: run in a child; never return */
void close_others(uint8_t kind); /* all descriptors but the standard ones and, for a diff, those of the layers */
void file_operation(const struct exec_request *request) __attribute__((noreturn));
