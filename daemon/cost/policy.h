/**
 * The thresholds of advice: how much better an option must be before it counts as better. Every
 * other constant of the planners is physics or a limit.
 */
#pragma once

/* Times that differ by less, relatively, are equal: the simpler, nearer or lower-numbered option
 * leads. A repetition on a quiet machine deviates by as much. */
#define POLICY_SAME 0.01

/* Values that differ by less, relatively, stand for each other: those of similar pairs, a
 * concurrent run and the rates predicted for it, one run and the next. The probe takes the same
 * figure to choose the pairs that it measures for others. */
#define POLICY_SIMILAR 0.05

/* Share of the time of one transfer that several transfers in its place must save. Several are less
 * certain: on two H200, paths that promised 18 % lost 20 %. */
#define POLICY_SEVERAL 0.20

/* Share of the time that a setting of the whole program (a variable read at its start) must save,
 * because it holds for all its transfers. */
#define POLICY_SETTING 0.05

/* Share of the time by which a choice must be ahead of gpus in order: job scripts expect these, and
 * predictions err. */
#define POLICY_IN_ORDER 0.03
