/* Linked into a helper that is built with sanitizers: a report ends the process with a code that nothing else uses. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0:exitcode=99:abort_on_error=0:handle_segv=0:handle_sigbus=0:handle_sigfpe=0:detect_stack_use_after_return=0"; }
