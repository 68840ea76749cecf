/* isobit.h: the whole library. Rooms, in reading order: base, numeric, policy, device, tensor, plan, trace, ops, nn,
 * sequence, precision, io, data, text, pretrained, train, predict, session.
 */
#ifndef ISOBIT_ISOBIT_H
#define ISOBIT_ISOBIT_H
#include <isobit/base.h>
#include <isobit/numeric.h>
#include <isobit/policy.h>
#include <isobit/device.h>
#include <isobit/tensor.h>
#include <isobit/plan.h>
#include <isobit/trace.h>
#include <isobit/ops.h>
#include <isobit/capture.h>
#include <isobit/nn.h>
#include <isobit/sequence.h>
#include <isobit/precision.h>
#include <isobit/io.h>
#include <isobit/data.h>
#include <isobit/text.h>
#include <isobit/pretrained.h>
#include <isobit/train.h>
#include <isobit/predict.h>
#include <isobit/compare.h>
#include <isobit/session.h>
#endif
