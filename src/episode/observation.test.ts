/** Observations: exact counts of what was left out, no control sequences, no byte over the budget. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { cleanText, leftText, observe, offersOf, shownOutput } from "./observation.ts";

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

test("output within its budget is shown whole", () => {
  expect(shownOutput(encode("all of it\n"), 0, 100)).toMatchObject({ text: "all of it\n", bytesLeftOut: 0 });
});

test("long output keeps head and tail, with the exact number of bytes between", () => {
  const output = encode(`${"a".repeat(600_000)}${"b".repeat(700_000)}`);
  const { text, bytesLeftOut } = shownOutput(output, 0, 65_443);
  expect(bytesLeftOut).toBe(1_234_557);
  expect(text).toMatch(/^a+\n\[… 1,234,557 bytes left out …\]\nb+$/);
});

test("what the sandbox dropped is counted, and the end it kept is not shown as the tail", () => {
  const { text, bytesLeftOut } = shownOutput(encode("x".repeat(100)), 900, 60);
  expect(bytesLeftOut).toBe(940);
  expect(text).toBe(`${"x".repeat(60)}\n[… 940 bytes left out …]\n`);
});

test("control sequences are removed, and line ends become one kind", () => {
  const cases: [string, string][] = [
    ["\u001b[31mred\u001b[0m", "red"],
    ["\u001b]0;title\u0007text", "text"],
    ["\u001b]8;;http://x\u001b\\link", "link"],
    ["\u001bPdevice\u001b\\after", "after"],
    ["a\u0008b\u0000c\u009bd", "abcd"],
    ["10%\r20%\r\ndone", "10%\n20%\ndone"],
    ["tab\tstays", "tab\tstays"],
  ];
  for (const [raw, clean] of cases) expect(cleanText(encode(raw))).toBe(clean);
});

test("bytes that are not UTF-8 are replaced for the policy and kept in the record", () => {
  const raw = Uint8Array.of(0x61, 0xff, 0x62);
  const call = { id: "c", name: "shell", argumentsRaw: "{}", arguments: {}, parseError: null };
  const result = {
    output: raw,
    outputBytesTruncated: 0,
    exitCode: 0,
    timedOut: false,
    oomKilled: false,
    isInvalid: false,
    submitted: null,
  };
  const left = { turns: 17, tokens: 41_200, agentMs: 312_900 };
  const seen = observe({ call, result, durationMs: 2_340, bytesMax: 100, left, isDeadlineShown: true });
  expect(seen.text).toBe("a\ufffdb\nexit 0 · 2.3 s · left: 17 turns, 41,200 tokens, 312 s");
  expect(seen.raw).toBe(raw);
  const hidden = observe({ call, result, durationMs: 2_340, bytesMax: 100, left, isDeadlineShown: false });
  expect(hidden.text).toBe("a\ufffdb\nexit 0 · 2.3 s");
});

test("whatever the bytes, the text stays in its budget, has no control character, and the counts add up", () => {
  const bytes = fc.uint8Array({ maxLength: 400 });
  fc.assert(
    fc.property(
      bytes,
      fc.integer({ min: 0, max: 300 }),
      fc.integer({ min: 0, max: 50 }),
      (output, bytesMax, dropped) => {
        const { text, bytesLeftOut } = shownOutput(output, dropped, bytesMax);
        expect(Buffer.byteLength(text.replace(/\n\[… [\d,]+ bytes left out …\]\n/, ""))).toBeLessThanOrEqual(bytesMax);
        expect(
          Array.from(text).every((character) => character === "\n" || character === "\t" || character >= " "),
        ).toBe(true);
        expect(bytesLeftOut).toBeGreaterThanOrEqual(dropped);
        expect(bytesLeftOut).toBeLessThanOrEqual(output.length + dropped);
      },
    ),
  );
});

test("a character is never cut in two", () => {
  const { text } = shownOutput(encode("é".repeat(100)), 0, 51);
  expect(text).not.toContain("\ufffd");
});

test("what is left reads the same on every machine", () => {
  expect(leftText({ turns: 1_000, tokens: 0, agentMs: 999 })).toBe("1,000 turns, 0 tokens, 0 s");
});

test("a task's servers and skills are told in one paragraph, and nothing where it has none", () => {
  expect(offersOf({})).toEqual([]);
  expect(
    offersOf({
      mcpServers: [
        { name: "files", transport: "stdio", argv: ["/usr/bin/files-mcp", "--root", "/a b"] },
        { name: "notes", transport: "sse", url: "http://127.0.0.1:8000/sse" },
      ],
      skillsFolder: "/skills",
    }),
  ).toEqual([
    'MCP servers in this sandbox:\n- files: stdio, started by "/usr/bin/files-mcp" "--root" "/a b"\n- notes: sse, at http://127.0.0.1:8000/sse\nSkills lie in /skills.',
  ]);
});
