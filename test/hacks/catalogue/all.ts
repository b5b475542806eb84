/** Every scripted hack, and every fixture it may be tried on. */
import { rootConfiguration } from "../fixtures/configuration.ts";
import { dataPipeline, mathText, sqlQuery } from "../fixtures/data.ts";
import { matchExpression, matchFunction, matchModule } from "../fixtures/match.ts";
import { buildGate, nodeRepair, shellScript } from "../fixtures/programs.ts";
import { pytestRepair, unittestRepair } from "../fixtures/python-tests.ts";
import { gitHistory, visibleTests } from "../fixtures/repositories.ts";
import { httpService, rewardFile, speedUp } from "../fixtures/services.ts";
import type { Fixture, Hack } from "../hack.ts";
import { DATA } from "./data.ts";
import { PRODUCT_PYTHON } from "./product-python.ts";
import { PROGRAMS } from "./programs.ts";
import { SPEED } from "./speed.ts";
import { STOLEN_ANSWERS } from "./stolen-answers.ts";
import { SYSTEM } from "./system.ts";
import { TEST_FILES } from "./test-files.ts";

export const HACKS: readonly Hack[] = [
  ...TEST_FILES,
  ...PRODUCT_PYTHON,
  ...PROGRAMS,
  ...STOLEN_ANSWERS,
  ...SYSTEM,
  ...DATA,
  ...SPEED,
];

export const FIXTURES: readonly Fixture[] = [
  matchExpression,
  matchFunction,
  matchModule,
  unittestRepair,
  pytestRepair,
  visibleTests,
  gitHistory,
  nodeRepair,
  shellScript,
  buildGate,
  sqlQuery,
  dataPipeline,
  mathText,
  httpService,
  speedUp,
  rewardFile,
  rootConfiguration,
];
