"""Odd names, hidden files, links, collisions, edges of sizes, a second run, nothing to do."""

from support import job


class TestOdd(job.JobTestCase):
    def assert_named(self, names, data=job.taken):
        end = job.ending().encode()
        self.assert_files({name.replace(b"END", end): data("odd", at) for at, name in enumerate(names)})

    def test_spaces_and_newlines(self):
        self.assert_named([b" leadEND", b"trail END", b"two\nlinesEND", b"tab\tEND", b"in\nfolder/a b.cEND", b"end\nEND", b"xEND\n"])

    def test_quotes_globs_and_dashes(self):
        self.assert_named([b"-rfEND", b"--helpEND", b"a*bEND", b"[x]END", b"q'uote\"END", b"back\\slashEND", b"$HOMEEND", b"%sEND", b"\xc3\xa9END"])

    def test_dots_in_odd_places(self):
        self.assert_named([b"two.dotsEND", b"dot.", b"a..bEND", b"no_dot", b"folder.d/no_dot_either", b"a.b.", b"x.UNKNOWN"], job.content)

    def test_hidden(self):
        self.assert_named([b".hiddenEND", b".hidden", b".folder/plainEND", b"a/.deep/xEND", b"a/b.cEND", b"openEND", b"a/...END"])

    def test_links(self):
        end = job.ending().encode()
        files = {b"real" + end: job.taken("real"), b"folder/other" + end: job.taken("other")}
        links = [(b"link" + end, b"real" + end), (b"loop", b"."), (b"out" + end, b"/etc/passwd"), (b"dead", b"nowhere"), (b"into", b"folder")]
        self.assert_files(files, links)

    def test_equal_places(self):
        end = job.ending().encode()
        names = [b"%s/n/same%s" % (folder, end) for folder in (b"a", b"b", b"c", b"B")] + [b"q/n/same%s" % end, b"q/m/n/same%s" % end]
        files = {name: job.taken("place", at) + b"." * (3 - abs(at - 3)) for at, name in enumerate(names)}
        files[b"q/n/same" + end + b".2"] = job.taken("suffix")
        files[b"q/n/2-same" + end] = job.taken("prefix")
        self.assert_files(files)

    def test_byte_order(self):
        self.assert_named([b"a/bEND", b"a-bEND", b"a.bEND", b"A/bEND", b"aEND", b"a b/cEND", b"\xc3\xa9/bEND", b"Z/bEND", b"a/b/cEND", b"_END"])

    def test_sizes_and_first_lines_at_the_edge(self):
        end, rule, place = job.ending().encode(), job.JOB["select"], job.JOB["place"]
        texts = [b"", b"\n", b"x", b"no line end"]
        if rule["kind"] == "bytes-min":
            texts += [b"s" * (rule["bytes"] - 1), b"s" * rule["bytes"], b"s" * (rule["bytes"] + 1)]
        if rule["kind"] == "first-line":
            word = rule["word"].encode()
            texts += [word, word.lower(), b"x" + word + b"x\n", b"\n" + word, b"one\n" + word + b"\n", b" " + word]
        if place["kind"] == "size":
            texts += [b"p" * (edge + by) for edge in (place["small"], place["large"]) for by in (-1, 0, 1)]
        if place["kind"] == "field":
            head = place["field"].encode()
            texts += [head + b": red", head + b": red\nx", head + b": Red", head + b":red", b" " + head + b": red", head + b": ", head + b": red ", head + b": r2", b"x\n" + head + b": red"]
        self.assert_files({b"f%02d" % at + end: text for at, text in enumerate(texts)})

    def test_nothing_to_file(self):
        self.assert_files({})

    def test_again(self):
        end = job.ending().encode()
        files = {b"%s/same%s" % (folder, end): job.taken("again", at) for at, folder in enumerate((b"a", b"b", b"c"))}
        runs, _ = job.run_script(files, runs=2)
        self.assertEqual([run["exit"] for run in runs], [0, 0])
        self.assertEqual(runs[1]["target"], job.filed(files))

    def test_missing_source(self):
        [run], _ = job.run_script(None)
        self.assertEqual(run["exit"], job.JOB["exitCode"])
        self.assertGreater(run["said"], 0)
        self.assertFalse(run["there"])
