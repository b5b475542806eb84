/** Every prevention as an edit that takes it out, with the one test that must then fail. */

export interface Prevention {
  /** Code of the catalogue. */
  readonly code: string;
  /** What holds while it is there. */
  readonly what: string;
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly from: string;
  readonly to: string;
  readonly testFile: string;
  /** Part of the test's title. */
  readonly test: string;
}

const COLLECT = "src/episode/freeze-and-collect";
const FRAMES = "src/verifier/report-frames";
const MATCH_TEST = "src/verifier/match.test.ts";
const REWARD_TEST = "src/verifier/reward-file.test.ts";
const SQL_TEST = "src/verifier/sql.test.ts";
const TIER_TEST = "src/verifier/tier-score.test.ts";
const UNITTEST_TEST = "src/verifier/unittest.test.ts";

export const PREVENTIONS: readonly Prevention[] = [
  {
    code: "SV",
    what: "no process of the agent outlives the freeze",
    file: `${COLLECT}.ts`,
    from: "  await sandbox.freeze();\n",
    to: "",
    testFile: `${COLLECT}.test.ts`,
    test: "patterns 30 and 36: no process of the agent outlives the freeze",
  },
  {
    code: "AC",
    what: "links are not followed out of the work folder",
    file: "src/episode/artifact-folders.ts",
    from: '      if (found.kind === "link") return nothing',
    to: '      if (found.kind === "link" && folder === "") return nothing',
    testFile: `${COLLECT}.test.ts`,
    test: "a declared path that is a link, lies behind one, or is a FIFO counts as not made",
  },
  {
    code: "AC",
    what: "no setuid or setgid program crosses",
    file: "src/episode/artifact-basket.ts",
    from: "  return (mode & SET_ID_BITS) === 0 ? null :",
    to: "  return (mode & SET_ID_BITS) >= 0 ? null :",
    testFile: `${COLLECT}.test.ts`,
    test: "a program that would run as another user does not cross",
  },
  {
    code: "AC",
    what: "a file below too many folders does not cross",
    file: "src/episode/artifact-basket.ts",
    from: '  if (path.split("/").length - 1 > DEPTH_MAX)',
    to: '  if (path.split("/").length < 0)',
    testFile: `${COLLECT}.test.ts`,
    test: "a file below more than 32 folders",
  },
  {
    code: "AC",
    what: "a sparse terabyte is refused by its size before it is read",
    file: `${COLLECT}.ts`,
    from: "  if (known.bytes > bytesMax) return refusedSize(rule, basket);\n",
    to: "",
    testFile: `${COLLECT}.test.ts`,
    test: "a sparse terabyte is refused without being read",
  },
  {
    code: "AC",
    what: "an artifact cannot be placed outside its folder",
    file: "src/verifier/test-files.ts",
    from: "    if (!isCleanPath(file.path)) {",
    to: '    if (file.path === "") {',
    testFile: UNITTEST_TEST,
    test: "an artifact whose path leaves its folder is refused as a verifier fault",
  },
  {
    code: "AC",
    what: "what the agent deleted stays deleted where its program is graded",
    file: "src/verifier/subject-sandbox.ts",
    from: '  if (cleared !== "") await asRoot(sandbox, "/", cleared, grade);\n',
    to: "",
    testFile: UNITTEST_TEST,
    test: "a deleted file stays deleted",
  },
  {
    code: "SR",
    what: "only who holds the nonce can sign a report",
    file: `${FRAMES}.ts`,
    from: "      if (!timingSafeEqual(code,",
    to: "      if (nonce.length === 0 && !timingSafeEqual(code,",
    testFile: `${FRAMES}.test.ts`,
    test: "a report signed by someone who does not know the nonce is invalid",
  },
  {
    code: "SR",
    what: "a report without its end counts for nothing",
    file: `${FRAMES}.ts`,
    from: '      if (fault === null && state !== "ended") fault = "it has no end";\n',
    to: "",
    testFile: `${FRAMES}.test.ts`,
    test: "changing, dropping, adding or cutting any bytes makes the whole report invalid",
  },
  {
    code: "SR",
    what: "nothing may follow the end of a report",
    file: `${FRAMES}.ts`,
    from: '      if (fault === null && rest.length > 0) fault = "bytes came after end";\n',
    to: "",
    testFile: `${FRAMES}.test.ts`,
    test: "changing, dropping, adding or cutting any bytes makes the whole report invalid",
  },
  {
    code: "SR",
    what: "the child of a test file holds no descriptor of the report",
    file: "src/verifier/python/test_runner.py",
    from: "        for fd in (RESULT, REQUESTS, REPLIES):\n            os.close(fd)\n",
    to: "",
    testFile: UNITTEST_TEST,
    test: "even a test file cannot write results",
  },
  {
    code: "SR",
    what: "the memory of the runner, and its nonce, cannot be read",
    file: "src/verifier/python/test_runner.py",
    from: "    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)\n    os.umask",
    to: "    os.umask",
    testFile: UNITTEST_TEST,
    test: "even a test file cannot write results",
  },
  {
    code: "SR",
    what: "skipped counts as failed, as does all that has not passed",
    file: "src/verifier/tier-score.ts",
    from: '    if (result.status === "passed") count.passed += 1;',
    to: '    if (result.status === "passed" || result.status === "skipped") count.passed += 1;',
    testFile: TIER_TEST,
    test: "only a passed test counts",
  },
  {
    code: "SR",
    what: "a test that was not reported has failed",
    file: "src/verifier/manifest-results.ts",
    from: 'return { status: "missing",',
    to: 'return { status: "passed",',
    testFile: UNITTEST_TEST,
    test: "skipped, expected to fail, missing, crashed and hanging tests have not passed",
  },
  {
    code: "SR",
    what: "visible tests earn nothing",
    file: "src/verifier/tier-score.ts",
    from: '      weight: tier.visibility === "visible" ? 0 : tier.weight,',
    to: "      weight: tier.weight,",
    testFile: TIER_TEST,
    test: "a visible tier earns nothing, whatever weight it declares",
  },
  {
    code: "SR",
    what: "a gate below its threshold takes the whole score",
    file: "src/verifier/tier-score.ts",
    from: "    if ((tier.gate || tier.veto === true) && ok.get(tier.name) !== true) return 0;\n",
    to: "",
    testFile: TIER_TEST,
    test: "a gate below its threshold sets the whole score to 0",
  },
  {
    code: "OP",
    what: "a subclass of a plain type is not plain",
    file: "src/verifier/python/subject_driver.py",
    from: "    if kind is int:",
    to: "    if isinstance(value, int):",
    testFile: MATCH_TEST,
    test: "a subclass of int that claims to equal everything",
  },
  {
    code: "OP",
    what: "a number that is not finite is refused",
    file: "src/verifier/python/sandlot_subject.py",
    from: "        if non_finite or math.isfinite(number):",
    to: "        if True:",
    testFile: "src/verifier/unittest.test.ts",
    test: "what the subject raises, returns and prints reaches the test as data",
  },
  {
    code: "FR",
    what: "an answer counts only with the nonce of its own input",
    file: "src/verifier/subject-driver.ts",
    from: "    block = block.subarray(NONCE_BYTES);\n",
    to: "",
    testFile: MATCH_TEST,
    test: "a reply for the next input, sent before it was",
  },
  {
    code: "FR",
    what: "a query must read a table, so constants are no answer",
    file: "src/verifier/sql-judge.ts",
    from: "  if (read.length === 0) return READS_NO_TABLE;\n",
    to: "",
    testFile: SQL_TEST,
    test: "pattern 49: constants equal to one result fail",
  },
  {
    code: "TD",
    what: "what the set-up or the image left in the reward folder is a fault",
    file: "src/verifier/python/reward_file.py",
    from: "    if found:\n        raise Unfit",
    to: "    if False:\n        raise Unfit",
    testFile: REWARD_TEST,
    test: "a reward folder that the set-up or the image has filled before is a fault",
  },
  {
    code: "CE",
    what: "a contract cannot put anything where a reward script finds what it trusts",
    file: "src/verifier/reward-file.ts",
    from: "    refuseTrusted(input.request.task);\n",
    to: "",
    testFile: REWARD_TEST,
    test: "a contract that would let the agent place",
  },
  {
    code: "SR",
    what: "all a reward script started has ended before its reward is read",
    file: "src/verifier/python/reward_file.py",
    from: "            os.kill(-1, signal.SIGKILL)",
    to: "            os.kill(os.getpid(), 0)",
    testFile: REWARD_TEST,
    test: "a program in the background cannot rewrite the reward after the script has ended",
  },
  {
    code: "SV",
    what: "a service is started anew, so that what lived in memory alone is gone",
    file: "src/verifier/http.ts",
    from: "    if (probe.restart) absent = await services.restart();\n",
    to: "",
    testFile: "src/verifier/http.test.ts",
    test: "what a service kept in memory alone is gone after a restart",
  },
  {
    code: "FR",
    what: "a query can read and nothing else, so it cannot change its source rows",
    file: "src/verifier/python/sql_sqlite.py",
    from: "sqlite3.SQLITE_RECURSIVE}",
    to: "sqlite3.SQLITE_RECURSIVE, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE, sqlite3.SQLITE_TRANSACTION}",
    testFile: SQL_TEST,
    test: "pattern 47: a text that changes the source rows is refused",
  },
  {
    code: "OP",
    what: "no program of the agent runs beside hidden tests",
    file: "src/verifier/python/child_guard.py",
    from: 'ARTIFACTS = "/artifacts/"',
    to: 'ARTIFACTS = "/nowhere/"',
    testFile: "src/verifier/shell.test.ts",
    test: "a check that would run the agent's program beside the hidden tests is a fault",
  },
  {
    code: "findings",
    what: "deterministic evidence of cheating changes the outcome",
    file: "src/episode/conclude.ts",
    from: 'findings.some(({ tier, isPunished }) => tier === "A" && isPunished)',
    to: 'findings.some(({ tier }) => tier === "D")',
    testFile: "src/episode/conclude.test.ts",
    test: "deterministic evidence of cheating earns",
  },
];
