/* gradients.h: one case of test_gradients: a function of a few tensors, which records the operator `rule`.
 *
 * A topic's cases are in the file of its name, ended by a row without a rule; topics.def lists the topics. */
#ifndef ISO_TESTS_GRADIENTS_H
#define ISO_TESTS_GRADIENTS_H
#include <isobit/ops.h>

enum { GRADIENT_INPUTS = 4, END = -1 };
typedef enum gradient_domain { SIGNED, POSITIVE } gradient_domain; /* SIGNED: away from zero, where kinks are */
typedef struct gradient_case {
  const char *rule;
  iso_tensor *(*f)(iso_context *ctx, iso_tensor *const *in);
  gradient_domain domain;
  int n_inputs;
  int64_t shapes[GRADIENT_INPUTS][6]; /* each ends with END; at most 256 elements */
} gradient_case;

#define TOPIC(topic) extern const gradient_case iso__gradients_##topic[];
#include "ops/gradients/topics.def"
#undef TOPIC
#endif
