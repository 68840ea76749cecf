/* class_rule.h: which numeric class convolutions are computed in (NUMERICS §8). */
#ifndef ISO_KERNELS_CONV_CLASS_RULE_H
#define ISO_KERNELS_CONV_CLASS_RULE_H
#include "plan/plan.h"

/* Sees direction, kernel, stride, dilation, groups, channels and image size, dtype, the policy's rule and accuracy;
 * never batch, threads, instruction set, workspace or time. */
const char *iso__conv_class_rule(const iso__problem *problem, const iso_policy *policy);
#endif
