/* cases.c: attention that tests and benchmarks run. */
#include <stddef.h>
extern const char *const iso__attention_cases[];
const char *const iso__attention_cases[] = {
    /* nothing at all, one of everything, blocks and tiles ± 1 */
    "attention.fwd f32 b0 h2 l3 s4 e5 f6", "attention.bwd f32 b0 h2 l3 s4 e5 f6",
#define BOTH(words) "attention.fwd " words, "attention.bwd " words
    BOTH("f32 b2 h0 l3 s4 e5 f6"), BOTH("f32 b1 h2 l0 s4 e5 f6"), BOTH("f32 b1 h2 l3 s0 e5 f6"),
    BOTH("f32 b1 h2 l3 s4 e0 f6"), BOTH("f32 b1 h2 l3 s4 e5 f0"), BOTH("f32 b1 h1 l1 s1 e1 f1"),
    BOTH("f32 b1 h1 l1 s130 e32 f32"), BOTH("f32 b1 h2 l17 s63 e16 f16"), BOTH("f32 b2 h1 l15 s64 e8 f24"),
    BOTH("f32 b1 h1 l33 s65 e32 f32"), BOTH("f32 b1 h1 l64 s64 e17 f31"), BOTH("f32 b1 h1 l65 s129 e33 f15"),
    BOTH("f32 b1 h1 l63 s100 e48 f80"), BOTH("f32 b3 h2 l5 s7 e3 f2"), BOTH("f32 b1 h1 l3 s5 e255 f257"),
    BOTH("f32 b1 h1 l2 s3 e256 f256"), BOTH("f32 b1 h1 l2 s3 e1100 f1025"), BOTH("f32 b1 h1 l70 s70 e64 f64"),
    BOTH("f32 b1 h1 l20 s20 e128 f128"),
    /* chunks of 256 and panels of 1024 of keys, and of queries */
    BOTH("f32 b1 h1 l3 s257 e4 f4"), BOTH("f32 b1 h1 l5 s1100 e2 f3"), BOTH("f32 b1 h1 l257 s3 e4 f4"),
    BOTH("f32 b1 h1 l1030 s5 e3 f2"), BOTH("f32 b1 h1 l300 s270 e4 f4"), BOTH("f32 b1 h1 l270 s300 e4 f4 causal1"),
    /* heads that lie in a projection (batch,length,heads·e) */
    BOTH("f32 b2 h3 l20 s20 e8 f8 qb480 qh8 qr24 kb480 kh8 kr24 vb480 vh8 vr24 ob480 oh8 or24"),
    "attention.bwd f32 b2 h3 l20 s20 e8 f8 qb480 qh8 qr24 kb480 kh8 kr24 vb480 vh8 vr24 ob480 oh8 or24 dyb500 dyh8 "
    "dyr25 dqb490 dqh8 dqr24 dkb480 dkh8 dkr24 dvb600 dvh9 dvr30",
    /* absent keys */
    BOTH("f32 b2 h2 l20 s20 e8 f8 causal1"), BOTH("f32 b1 h1 l20 s70 e8 f8 causal1"),
    BOTH("f32 b1 h2 l130 s70 e8 f8 causal1"), BOTH("f32 b5 h1 l9 s100 e8 f8 len1"),
    BOTH("f32 b6 h1 l70 s70 e8 f8 len3"), BOTH("f32 b6 h2 l7 s80 e8 f8 len2 repeat3"),
    BOTH("f32 b4 h1 l70 s70 e8 f8 len3 causal1"), BOTH("f32 b2 h2 l9 s70 e8 f8 mask1"),
    BOTH("f32 b2 h2 l9 s70 e8 f8 mask1 mb0 mh0 mr0"), BOTH("f32 b2 h2 l70 s9 e8 f8 mask1 mb0 mh0 mr1 mc70 causal1"),
    BOTH("f32 b2 h2 l9 s70 e8 f8 mask2"), BOTH("f32 b2 h2 l33 s70 e8 f8 mask2 mb0 mh0 mr70 len1"),
    /* groups, dropout, the gradient of the scores */
    BOTH("f32 b2 h6 l20 s30 e8 f8 g3"), BOTH("f32 b1 h4 l70 s90 e16 f16 g4 causal1"),
    BOTH("f32 b1 h2 l150 s9 e4 f4 g2"), BOTH("f32 b2 h2 l17 s70 e8 f8 drop1"),
    BOTH("f32 b1 h2 l66 s65 e8 f8 drop1 len3 causal1"), BOTH("f32 b2 h4 l9 s67 e8 f8 drop1 g2"),
    "attention.bwd f32 b2 h2 l9 s70 e8 f8 mask2 ds1",
    "attention.bwd f32 b2 h2 l20 s70 e8 f8 mask2 mb0 mh0 mr0 ds1 causal1 len3 drop1",
    /* other dtypes */
    BOTH("f64 b2 h2 l9 s70 e8 f8"), BOTH("f64 b1 h2 l9 s70 e8 f8 mask2 causal1 drop1"),
    BOTH("bf16 b2 h2 l20 s70 e8 f8"), BOTH("bf16 b1 h2 l66 s66 e32 f32 causal1 len3"),
    BOTH("f16 b2 h2 l20 s70 e16 f16 mask2"), BOTH("f16 b1 h4 l17 s20 e9 f7 g2 drop1"),
    "attention.bwd bf16 b1 h2 l9 s20 e8 f8 mask2 ds1",
    /* MiniLM: a sentence, and a batch as its projections lie */
    BOTH("f32 b1 h12 l32 s32 e32 f32 qb12288 qh32 qr384 kb12288 kh32 kr384 vb12288 vh32 vr384 ob12288 oh32 or384"),
    BOTH("f32 b2 h12 l128 s128 e32 f32 qb49152 qh32 qr384 kb49152 kh32 kr384 vb49152 vh32 vr384 ob49152 oh32 or384"),
    NULL};
