import { expect, test } from "vitest";
import { absoluteTarget, endToEnd, hostAgrees, isAmbiguous, isCrookedPath, tunnelTarget } from "./request-head.ts";

test("an absolute request names host, port and path", () => {
  expect(absoluteTarget("http://Example.org/a?b=c")).toMatchObject({
    host: { kind: "name", text: "example.org" },
    port: 80,
    path: "/a?b=c",
  });
  expect(absoluteTarget("http://example.org:8080")).toMatchObject({ port: 8080, path: "/" });
  expect(absoluteTarget("http://example.org?q")).toMatchObject({ path: "/?q" });
});

test("other schemes, user information, fragments, backslashes and blanks are no request", () => {
  const urls = [
    "/",
    "*",
    "https://a.b/",
    "ftp://a.b/",
    "http:a.b",
    "http:///a.b",
    "//a.b/",
    "http://u@a.b/",
    "http://u:p@a.b/",
  ];
  for (const url of [
    ...urls,
    "http://a.b/#x",
    "http://a.b\\@c.d/",
    "http://a.b/ x",
    "http://a.b:/",
    "http://a.b/\u00e9",
    "http://a.b/\x01",
    "http://a.b:80x/",
    "",
  ])
    expect([url, absoluteTarget(url)]).toEqual([url, null]);
});

test("a tunnel needs its port", () => {
  expect(tunnelTarget("example.org:443")).toMatchObject({ port: 443, host: { text: "example.org" } });
  for (const authority of ["example.org", "http://example.org:443", "example.org:443/", ":443", "a@example.org:443"])
    expect(tunnelTarget(authority)).toBeNull();
});

test("the Host header names the request's host and port, once", () => {
  const plain = absoluteTarget("http://example.org:8080/");
  const tunnel = tunnelTarget("example.org:443");
  if (plain === null || tunnel === null) throw new Error("unreadable");
  expect(hostAgrees(["Host", "EXAMPLE.org:8080"], plain, false)).toBe(true);
  expect(hostAgrees(["Host", "example.org"], tunnel, true)).toBe(true);
  expect(hostAgrees([], tunnel, true)).toBe(true);
  for (const raw of [
    [],
    ["Host", "example.org"],
    ["Host", "example.org:80"],
    ["Host", "other.org:8080"],
    ["Host", ""],
    ["Host", "example.org:8080", "host", "example.org:8080"],
    ["Host", "example.org:8080, other.org"],
  ])
    expect([raw, hostAgrees(raw, plain, false)]).toEqual([raw, false]);
});

test("a body has one length", () => {
  for (const raw of [[], ["Content-Length", "0"], ["Transfer-Encoding", "Chunked"]])
    expect(isAmbiguous(raw)).toBe(false);
  for (const raw of [
    ["Content-Length", "5", "Transfer-Encoding", "chunked"],
    ["Content-Length", "5", "content-length", "5"],
    ["Content-Length", "+5"],
    ["Content-Length", "5, 5"],
    ["Transfer-Encoding", "gzip, chunked"],
    ["Transfer-Encoding", "identity"],
  ])
    expect([raw, isAmbiguous(raw)]).toEqual([raw, true]);
});

test("hop-by-hop fields stay behind, those the client names as such too", () => {
  const raw = [
    ...["Host", "a.b", "Proxy-Authorization", "Basic x", "Connection", "close, X-Mine, Content-Length", "X-Mine", "1"],
    ...["Proxy-Connection", "keep-alive", "TE", "trailers", "Content-Length", "5", "Accept", "a", "accept", "b"],
  ];
  expect(endToEnd(raw, new Set(["host"]))).toEqual(["Content-Length", "5", "Accept", "a", "accept", "b"]);
});

test("a path that could leave its folder is crooked", () => {
  for (const path of [
    "/../a",
    "/a/..",
    "/a/./b",
    "/%2e%2e/a",
    "/a/.%2E/b",
    "/a%2f..%2fb",
    "/a\\..\\b",
    "/a/%5c../b",
    "/..;/a",
    "/%252e%252e/a",
    "/.%3Bx/a",
  ])
    expect([path, isCrookedPath(path)]).toEqual([path, true]);
  for (const path of ["/", "/a/b", "/a..b/...", "/a?x=/../y", "/.hidden"])
    expect([path, isCrookedPath(path)]).toEqual([path, false]);
});
