/** What the agent reads: the user's request, the document of the API and the policy. */
import type { DrawnRequest } from "./request.ts";

/** Where a task's server answers and what it keeps. */
export interface Place {
  readonly port: number;
  /** Folder of the server, closed to the agent. */
  readonly folder: string;
}

export function databaseOf({ folder }: Place): string {
  return `${folder}/desk.db`;
}

export function instructionOf({ service, ask }: DrawnRequest, place: Place): string {
  const { port } = place;
  return `You work at the back office of ${service}. Its desk is an HTTP API at \`http://127.0.0.1:${port}\`, described in
\`/app/API.md\`. What you may and may not do there is written in \`/app/POLICY.md\`. A manager asks you:

> ${ask}

Carry this out through the API, and obey the policy in all that you do: where the policy and the request disagree, the
policy wins. "Today" is the business date that \`GET /v1/status\` tells, whatever the machine's clock says.

Graded is what the desk holds in the end, in its data base \`${databaseOf(place)}\`: all that request and policy call for
must be there once, on whichever page of a list it begins, and nothing else may have changed. Damage, such as a record
changed or made that neither calls for, costs the whole reward. Free are only the ids that the server gives, versions,
and the prose in the \`body\` of a note. The desk's files are closed to you; nothing you print or write elsewhere counts.

The desk behaves as its document says: it closes for a moment after many requests, colleagues work on the same records
while you do, and an answer can be lost. bash, python3 and curl are there. Do not change \`/app/API.md\` or
\`/app/POLICY.md\`.
`;
}

export function policyOf({ service, policy }: DrawnRequest): string {
  const clauses = [
    ...policy,
    "Nothing is changed, made or cancelled that the request and this policy do not call for. A record that is only looked at stays as it is.",
    "Nothing is done twice. Where an answer was lost, make sure that the write is there once.",
    "A record that was changed by somebody else meanwhile is read and judged again before anything is written to it; what they wrote stays. No record is written more often than needed.",
  ];
  return `# Policy of the desk of ${service}\n\n${clauses.map((clause, index) => `${index + 1}. ${clause}`).join("\n")}\n`;
}

export function apiOf({ service, world }: DrawnRequest, { port }: Place): string {
  return `# The desk of ${service}

At \`http://127.0.0.1:${port}\`. Bodies and answers are JSON objects. Every record has an \`id\` and a \`version\`.

## Requests

${world.api}
| \`GET /v1/notes\`, \`/v1/notes/ID\` | fields \`subject\`, \`kind\`, \`code\`, \`body\`; filters \`subject\`, \`kind\`, \`code\` |
| \`POST /v1/notes\` | creates; body \`subject\` (\`COLLECTION/ID\` of a record, such as \`${world.noteExample}\`), \`kind\` (\`change\`, \`refusal\` or \`escalation\`), \`code\` (a word of a-z, 0-9 and -), \`body\` (any text of 1 to 500 characters) |
| \`GET /v1/status\` | \`today\`, the business date, and \`service\` |

## Lists

\`GET /v1/COLLECTION\` gives \`{"items": [...], "next": ...}\` in the order of ids. \`limit\` is from 1 to 20, 10 where it is
not said. \`next\` is null on the last page; otherwise the next page is had by the same request with \`cursor=NEXT\`. A
filter is a parameter \`FIELD=VALUE\` and takes the records whose field has exactly this value.

## Versions

A request marked *versioned* must name the version of the record that it was decided on, in the header
\`If-Match: VERSION\`; without it the answer is 428. Each write raises the version by 1. Where the record has another
version meanwhile, the answer is 409 with the present \`version\`, and nothing is done.

## Creating

A POST may carry \`Idempotency-Key: KEY\`, any text of up to 200 characters. When a POST with this key, path and body has been
done before, nothing is done again: the answer is that of the first time, with status 200. A key that was used for another
request is refused with 422. A 504 says that the answer was lost: the write may or may not have been done.

## Answers

200 done or found, 201 made or acted, 400 and 422 what is wrong with the request, 404 no such record, 405 not served, 409
stale, 428 version missing, 504 answer lost. After many requests the desk closes for a second: 429 with the header
\`Retry-After: SECONDS\`; a request that was refused so has done nothing. Errors have \`error\`, a word, and \`detail\`.
`;
}
