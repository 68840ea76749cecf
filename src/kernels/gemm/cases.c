/* cases.c: gemm shapes for tests and benchmarks: every transpose, sizes round the tiles (6, 14 rows; 8, 16, 32 columns)
 * and the order's chunk (256) and panel (1024), epilogues, strides, batches, empty extents, and what the models use. */
#include <stddef.h>

extern const char *const iso__gemm_cases[];
const char *const iso__gemm_cases[] = {
    /* empty */
    "gemm f32 m0 n5 k5", "gemm f32 m5 n0 k5", "gemm f32 m5 n7 k0 bias1 relu1", "gemm f32 m3 n3 k0 beta1",
    "gemm f32 m3 n3 k3 batch0", "gemm f64 m4 n0 k3",
    /* tiny */
    "gemm f32 m1 n1 k1", "gemm f32 m1 n1 k2000 ta1", "gemm f32 m2 n3 k5 ta1 tb1", "gemm f32 m1 n10 k32 tb1 bias1",
    "gemm f32 m1 n32 k784 tb1 bias1 relu1", "gemm f32 m1 n32 k784 bias1 relu1", "gemm f32 m1 n32 k10",
    "gemm f32 m10 n32 k1 ta1", "gemm f32 m32 n784 k1 ta1", "gemm f32 m784 n32 k1 ta1",
    "gemm f32 m7 n17 k1 alpha1 beta1",
    /* round the tiles */
    "gemm f32 m5 n7 k9", "gemm f32 m6 n8 k255", "gemm f32 m7 n9 k256 tb1", "gemm f32 m12 n15 k257 ta1",
    "gemm f32 m13 n16 k31 ta1 tb1", "gemm f32 m14 n17 k33", "gemm f32 m15 n31 k64 tb1 bias1",
    "gemm f32 m27 n32 k65 ta1", "gemm f32 m28 n33 k127", "gemm f32 m29 n47 k16 ta1 tb1 relu1",
    "gemm f32 m43 n49 k15 tb1", "gemm f32 m65 n63 k129", "gemm f32 m100 n100 k100 ta1 alpha1 beta1 bias1 relu1",
    "gemm f32 m145 n50 k40", "gemm f32 m253 n65 k17 tb1", "gemm f32 m17 n545 k19 ta1", "gemm f32 m35 n1030 k21",
    /* round chunk and panel, with and without waiting sums */
    "gemm f32 m15 n35 k511", "gemm f32 m15 n35 k512 beta1", "gemm f32 m15 n35 k513 tb1 bias1 relu1",
    "gemm f32 m20 n34 k1023 ta1", "gemm f32 m20 n34 k1024 tb1 beta1", "gemm f32 m20 n34 k1025 beta1 alpha1 bias1",
    "gemm f32 m33 n40 k1280 ta1 tb1", "gemm f32 m16 n70 k2049 ta1 relu1", "gemm f32 m300 n9 k1100 beta1",
    "gemm f32 m9 n70 k3000 tb1 beta1",
    /* few rows or columns */
    "gemm f32 m1 n2050 k300", "gemm f32 m1 n333 k1500 tb1 bias1", "gemm f32 m1 n40 k1100 alpha1 beta1",
    "gemm f32 m2 n257 k700", "gemm f32 m3 n2500 k90 relu1", "gemm f32 m4 n100 k2600 tb1", "gemm f32 m5 n129 k513 tb1",
    "gemm f32 m8 n64 k1030", "gemm f32 m300 n1 k700", "gemm f32 m200 n2 k1300 ta1", "gemm f32 m77 n5 k260 tb1",
    "gemm f32 m513 n1 k65 tb1 bias1", "gemm f32 m6 n3 k5000 ta1",
    /* strides and batches */
    "gemm f32 m21 n37 k45 lda50 ldb41 ldc39", "gemm f32 m21 n37 k300 ta1 tb1 lda24 ldb301 ldc64 beta1",
    "gemm f32 m4 n37 k300 lda512 ldb1024 ldc40 bias1", "gemm f32 m64 n48 k40 lda1024 ldb1024",
    "gemm f32 m5 n6 k7 batch9", "gemm f32 m33 n17 k64 batch5 tb1", "gemm f32 m16 n16 k1100 batch3 sb0 bias1",
    "gemm f32 m1 n20 k30 batch40 sa0", "gemm f32 m2 n3 k4 batch3 sa11 sb17 sc9 ldc3 beta1",
    "gemm f32 m64 n64 k32 batch12 ta1",
    /* epilogues */
    "gemm f32 m20 n33 k40 act2", "gemm f32 m7 n50 k300 tb1 bias1 act3", "gemm f32 m29 n70 k1100 bias1 res1 scale1 act4",
    "gemm f32 m3 n90 k600 tb1 bias1 res1 act2", "gemm f32 m40 n17 k530 ta1 alpha1 beta1 bias1 res1 scale1 relu1",
    "gemm f32 m5 n37 k4200 ta1 res1 scale1 act4", "gemm f32 m2 n40 k30 batch3 tb1 res1 ldc45 act3 kept1",
    "gemm f64 m9 n11 k300 bias1 res1 scale1 act2", "gemm f64 m3 n5 k20 scale1 act3", "gemm f64 m4 n4 k9 act4",
    /* f16 and bf16 */
    "gemm bf16 m7 n9 k11", "gemm f16 m20 n33 k300 tb1 bias1 relu1", "gemm bf16 m15 n70 k1100 ta1 alpha1 beta1 res1",
    "gemm f16 m29 n47 k600 bias1 res1 scale1 act2", "gemm bf16 m1 n40 k2100 tb1", "gemm f16 m0 n3 k3",
    "gemm bf16 m5 n5 k0 bias1", "gemm bf16 m33 n65 k257 batch3 tb1 kept1", "gemm f16 m2 n20 k30 batch4 sb0",
    /* constant weights */
    "gemm f32 m1 n300 k700 tb1 bias1 kept1", "gemm f32 m1 n64 k2100 kept1", "gemm f32 m2 n70 k300 tb1 kept1",
    "gemm f32 m3 n133 k1100 kept1 relu1", "gemm f32 m4 n200 k513 tb1 beta1 kept1", "gemm f32 m5 n40 k260 ta1 kept1",
    "gemm f32 m8 n129 k1300 tb1 kept1", "gemm f32 m7 n9 k30 kept1", "gemm f32 m3 n5 k0 bias1 kept1",
    "gemm f32 m70 n90 k600 tb1 bias1 kept1", "gemm f32 m20 n33 k40 batch3 kept1",
    "gemm f32 m3 n50 k70 batch4 sb0 kept1", "gemm f32 m2 n50 k300 batch3 tb1 kept1", "gemm f32 m300 n300 k1100 kept1",
    /* ends of narrow strips of A, with nothing packed behind them */
    "gemm f32 m7 n64 k73 kept1", "gemm f32 m15 n100 k65 kept1", "gemm f32 m15 n100 k81 tb1 kept1",
    "gemm f32 m1 n64 k128 ta1 lda8 kept1", "gemm f32 m3 n40 k600 ta1 lda16 beta1 kept1",
    "gemm f32 m2 n130 k1111 ta1 lda19 kept1", "gemm f32 m17 n97 k97 kept1",
    /* threads cut these */
    "gemm f32 m200 n190 k50", "gemm f32 m190 n200 k600 tb1 bias1 relu1", "gemm f32 m40 n40 k12600 ta1",
    "gemm f32 m3 n2100 k260", "gemm f32 m257 n129 k1100 ta1 beta1",
    /* the models: cnn (batch 64), mlp (batch 32) and their gradients; convolution's weight gradients as products */
    "gemm f32 m64 n128 k3136 tb1 bias1 relu1", "gemm f32 m64 n10 k128 tb1 bias1", "gemm f32 m64 n3136 k128",
    "gemm f32 m128 n3136 k64 ta1", "gemm f32 m64 n128 k10", "gemm f32 m10 n128 k64 ta1",
    "gemm f32 m32 n32 k784 tb1 bias1 relu1", "gemm f32 m32 n784 k32 ta1", "gemm f32 m32 n9 k6272 ta1",
    "gemm f32 m64 n576 k4608 ta1", "gemm f32 m7 n19 k5377 ta1 ldc40 alpha1 beta1 bias1 relu1",
    "gemm f32 m5 n9 k9300 tb1", "gemm f32 m512 n10 k32 ta1", "gemm f32 m264 n256 k300", "gemm f32 m320 n320 k1300 tb1",
    /* tiles of 64 and 128, many of one chunk, and few rows in whole vectors */
    "gemm f32 m260 n132 k1028 ta1", "gemm f32 m200 n100 k2052 ta1 beta1", "gemm f32 m700 n500 k60",
    "gemm f32 m516 n260 k200 ta1 beta1 bias1", "gemm f32 m400 n300 k256 batch3", "gemm f32 m32 n260 k1028 tb1",
    "gemm f32 m9 n132 k2052 alpha1 beta1 bias1", "gemm f32 m12 n64 k768 batch3 sb0",
    /* C larger than L2 */
    "gemm f32 m1449 n1450 k515 tb1 bias1", "gemm f32 m1449 n1450 k1030 beta1",
    /* many rows and few terms; few results of many slots; few rows, terms beyond whole batches */
    "gemm f32 m1452 n1456 k1030 beta1", "gemm f32 m20001 n260 k68", "gemm f32 m20003 n516 k36 bias1 relu1",
    "gemm f32 m20 n36 k33000 ta1", "gemm f32 m9 n12 k40000 bias1", "gemm f32 m1 n132 k1102",
    "gemm f32 m5 n100 k780 tb1",
    /* binary64 */
    "gemm f64 m9 n10 k11 tb1 bias1", "gemm f64 m20 n21 k1300 ta1 alpha1 beta1 relu1", "gemm f64 m3 n4 k300 batch4 sb0",
    NULL};
