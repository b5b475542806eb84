/** Faults of the network: what reaches out that must not. Where it can be, the sandbox really is given the wider network. */
import type { NetworkPolicy } from "../../src/core/sandbox.ts";
import { type FaultHooks, hurried, outputReplacing, outputWith } from "./fault-hooks.ts";
import type { Fault } from "./faults.ts";
import { ROUTE_SECRET } from "./small-internet.ts";

const networkOf = (network: NetworkPolicy): FaultHooks => ({ request: (request) => ({ ...request, network }) });

export const FAULTS_OF_NETWORK: readonly Fault[] = [
  { breaks: "55", what: "reaches the host's loopback", ...outputWith("127.0.0.1 connected\n") },
  { breaks: "55b", what: "reaches a socket of the host by its path", ...outputWith("AF_UNIX SOCK_STREAM reached\n") },
  { breaks: "57", what: "takes an allow-list for an open network", ...networkOf({ mode: "open" }) },
  { breaks: "57b", what: "connects to whatever a listed name answers", ...outputReplacing(/403/, "200") },
  {
    breaks: "57c",
    what: "reaches an inner address in one spelling",
    ...outputReplacing(/403 (\S+127\.1\/)/, "200 $1"),
  },
  { breaks: "57d", what: "allows addresses that nobody listed", ...networkOf({ mode: "open" }) },
  { breaks: "57e", what: "passes on a request with two lengths", ...outputReplacing(/400/g, "200") },
  { breaks: "57f", what: "looks at a tunnel's name only when it is opened", ...outputReplacing(/cut/, "tunnelled") },
  { breaks: "57g", what: "follows a redirect anywhere", ...networkOf({ mode: "open" }) },
  {
    breaks: "57h",
    what: "tells a route's secret with the sandbox's labels",
    sandbox: ({ info }) => ({ info: { ...info, labels: { ...info.labels, route: ROUTE_SECRET } } }),
  },
  {
    breaks: "57i",
    what: "opens its routes to everyone",
    ...networkOf({ mode: "open", hosts: ["model.sandlot.invalid"] }),
  },
  {
    breaks: "57j",
    what: "keeps the network of the first phase",
    ...hurried,
    sandbox: () => ({ setNetwork: async () => undefined }),
  },
];
