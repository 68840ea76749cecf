/* cases.c: convolutions that tests and benchmarks run. */
#include <stddef.h>

#define TWO_DIRECTIONS(text) "conv2d.fwd f32 " text, "conv2d.bwd_data f32 " text
#define THREE_DIRECTIONS(text) "conv2d.fwd f32 " text, "conv2d.bwd_data f32 " text, "conv2d.bwd_weights f32 " text

extern const char *const iso__conv_cases[];
const char *const iso__conv_cases[] = {
    /* tile edges: rows 6 and 12, columns 16 and 32, chunks of 256, panels of 1024 */
    THREE_DIRECTIONS("n1 c1 h1 w1 k1 r1 s1"), THREE_DIRECTIONS("n1 c5 h7 w9 k17 r3 s3 p1"),
    THREE_DIRECTIONS("n2 c29 h5 w6 k33 r3 s3 p1"), THREE_DIRECTIONS("n13 c16 h4 w4 k31 r3 s3 p1"),
    THREE_DIRECTIONS("n25 c33 h3 w3 k15 r3 s3 p1"), THREE_DIRECTIONS("n1 c257 h3 w4 k5 r1 s1"),
    THREE_DIRECTIONS("n1 c1025 h2 w2 k3 r1 s1"), THREE_DIRECTIONS("n2 c128 h3 w3 k8 r3 s3 p1"),
    THREE_DIRECTIONS("n1 c3 h1 w700 k4 r1 s5 pl2 pr2"), THREE_DIRECTIONS("n5 c2 h16 w16 k3 r2 s2"),
    /* attributes */
    THREE_DIRECTIONS("n2 c6 h11 w10 k8 r3 s3 st2 p1"), THREE_DIRECTIONS("n2 c4 h12 w9 k6 r3 s2 sth3 stw2 pt1 pl2 pr3"),
    THREE_DIRECTIONS("n2 c4 h13 w12 k7 r3 s3 p2 d2"),
    THREE_DIRECTIONS("n1 c5 h13 w14 k9 r3 s2 sth2 stw3 pt2 pb1 pr4 dh3 dw2"),
    THREE_DIRECTIONS("n2 c12 h6 w7 k18 r3 s3 p1 g3"), THREE_DIRECTIONS("n2 c10 h6 w5 k10 r3 s3 st2 p1 g10"),
    THREE_DIRECTIONS("n2 c5 h8 w8 k6 r1 s1 st3"), THREE_DIRECTIONS("n1 c4 h4 w4 k3 r5 s5 p3"),
    THREE_DIRECTIONS("n1 c3 h2 w3 k4 r4 s4 st2 p5"), THREE_DIRECTIONS("n1 c2 h3 w3 k2 r2 s2 st4 p7"),
    "conv2d.fwd f32 n2 c9 h6 w7 k19 r3 s3 p1 b1", "conv2d.fwd f32 n2 c9 h6 w7 k37 r3 s3 p1 b1 res1 act1",
    "conv2d.fwd f32 n2 c9 h6 w7 k16 r3 s3 p1 res1", "conv2d.fwd f32 n2 c300 h3 w3 k48 r2 s2 act1",
    THREE_DIRECTIONS("n0 c3 h5 w5 k4 r3 s3 p1"), THREE_DIRECTIONS("n2 c0 h5 w5 k4 r3 s3 p1"),
    THREE_DIRECTIONS("n2 c3 h5 w5 k0 r3 s3 p1"), THREE_DIRECTIONS("n2 c3 h0 w5 k4 r3 s3"),
    THREE_DIRECTIONS("n2 c3 h2 w2 k4 r3 s3"), THREE_DIRECTIONS("n2 c3 h2 w9 k4 r5 s2 st2"),
    "conv2d.fwd f32 n1 c0 h2 w2 k5 r1 s1 b1 act1", "conv2d.fwd f64 n2 c6 h7 w5 k5 r3 s3 st2 p1 b1 act1",
    "conv2d.bwd_data f64 n2 c6 h7 w5 k5 r3 s3 st2 p1", "conv2d.bwd_weights f64 n2 c6 h7 w5 k5 r3 s3 st2 p1",
    /* one and three dimensions, channels-first input */
    THREE_DIRECTIONS("n2 c3 h5 w6 k4 r2 s3 p1 z4 t3 pf1 pk1"),
    THREE_DIRECTIONS("n2 c4 h5 w4 k6 r3 s1 z7 t2 stz2 dz2 pf2 g2"),
    THREE_DIRECTIONS("n1 c300 h1 w2 k5 r1 s1 z3 t2 stz3 pk1"), THREE_DIRECTIONS("n2 c3 h4 w4 k4 r3 s3 p1 z0 t2"),
    "conv2d.fwd f64 n1 c3 h4 w5 k4 r3 s3 p1 z4 t3 pf1 pk1 b1 act1", "conv2d.fwd f32 n2 c3 h9 w8 k5 r3 s3 st2 p1 xf1",
    "conv2d.bwd_weights f32 n2 c3 h9 w8 k5 r3 s3 st2 p1 xf1", "conv2d.fwd f32 n2 c20 h5 w5 k9 r1 s1 b1 xf1",
    "conv2d.fwd f32 n3 c17 h6 w6 k33 r3 s3 p1 kept1", "conv2d.bwd_data f32 n3 c17 h6 w6 k33 r3 s3 p1 kept1",
    /* depthwise: vector widths 8 and 16 and tails, 1 to 8 pixels at a time, taps 1 2 3 5 7 and others, borders */
    THREE_DIRECTIONS("n2 c16 h9 w11 k16 r3 s3 p1 g16"), THREE_DIRECTIONS("n1 c21 h7 w19 k21 r3 s3 st2 p1 g21"),
    THREE_DIRECTIONS("n2 c24 h8 w10 k24 r5 s5 p2 g24"), THREE_DIRECTIONS("n1 c19 h12 w23 k19 r7 s7 st2 p3 g19"),
    THREE_DIRECTIONS("n1 c40 h9 w14 k40 r3 s3 p2 d2 g40"), THREE_DIRECTIONS("n3 c8 h1 w40 k8 r1 s9 pl8 g8"),
    THREE_DIRECTIONS("n1 c33 h5 w4 k33 r4 s6 sth3 stw2 p4 dh2 dw3 g33"),
    THREE_DIRECTIONS("n1 c7 h3 w2 k7 r2 s2 st5 p6 g7"), THREE_DIRECTIONS("n2 c16 h3 w17 k16 r1 s1 g16"),
    THREE_DIRECTIONS("n3 c24 h28 w28 k40 r1 s1"), THREE_DIRECTIONS("n1 c16 h3 w33 k16 r2 s2 st2 g16"),
    "conv2d.fwd f32 n2 c35 h6 w9 k35 r3 s3 p1 g35 b1 res1 act1", "conv2d.fwd f32 n1 c16 h6 w9 k16 r7 s7 p3 g16 b1",
    THREE_DIRECTIONS("n8 c48 h14 w14 k48 r3 s3 p1 g48"), THREE_DIRECTIONS("n31 c32 h7 w7 k32 r3 s3 p1 g32"),
    THREE_DIRECTIONS("n2 c8 h9 w13 k8 r3 s3 p2 d2 g8"), THREE_DIRECTIONS("n3 c40 h19 w13 k40 r3 s3 st2 p1 g40"),
    "conv2d.fwd f32 n2 c36 h9 w9 k36 r3 s3 p1 g36 b1 res1 act1", THREE_DIRECTIONS("n1 c8 h16 w7 k8 r3 s3 p2 g8"),
    THREE_DIRECTIONS("n2 c12 h23 w10 k12 r3 s3 g12"),
    /* many tiles of one chunk */
    "conv2d.fwd f32 n4 c16 h20 w20 k128 r3 s3 p1 b1", "conv2d.fwd f32 n6 c64 h20 w20 k128 r1 s1 b1 res1 act1",
    /* FFT tiles: one and several, every length; groups, channels by themselves, chunks of 256 channels and tiles */
    THREE_DIRECTIONS("n2 c3 h9 w8 k5 r5 s4 pt2 pb2 pl1"), THREE_DIRECTIONS("n1 c2 h19 w9 k3 r5 s5 p2"),
    THREE_DIRECTIONS("n2 c6 h7 w6 k4 r4 s5 p2 g2"), THREE_DIRECTIONS("n2 c19 h5 w6 k19 r5 s5 p2 g19"),
    THREE_DIRECTIONS("n1 c2 h26 w13 k1 r7 s7 p3"), THREE_DIRECTIONS("n1 c1 h33 w9 k2 r20 s4"),
    THREE_DIRECTIONS("n1 c1 h49 w6 k1 r40 s5"), THREE_DIRECTIONS("n1 c2 h6 w5 k3 r4 s4 p5"),
    "conv2d.fwd f32 n1 c1030 h3 w3 k2 r4 s4 p1", "conv2d.bwd_data f32 n1 c1 h4 w4 k1030 r4 s4",
    "conv2d.bwd_weights f32 n270 c1 h4 w4 k2 r4 s4", "conv2d.bwd_weights f32 n1030 c1 h4 w4 k1 r4 s4",
    THREE_DIRECTIONS("n0 c3 h9 w9 k4 r5 s5 p2"), THREE_DIRECTIONS("n2 c0 h6 w6 k4 r5 s5 p2"),
    "conv2d.fwd f32 n2 c3 h9 w8 k5 r5 s4 p2 b1 res1 act1 kept1", "conv2d.bwd_data f32 n2 c4 h7 w6 k6 r5 s4 p2 g2 kept1",
    "conv2d.fwd f32 n2 c9 h7 w8 k9 r4 s5 p2 g9 b1 kept1", THREE_DIRECTIONS("n5 c30 h28 w28 k35 r5 s5 p2"),
    THREE_DIRECTIONS("n2 c16 h28 w28 k16 r11 s11 p5"), THREE_DIRECTIONS("n2 c24 h28 w28 k24 r31 s31 p15 g24"),
    THREE_DIRECTIONS("n2 c8 h50 w60 k8 r21 s23 p10"),
    /* Winograd: tiles at edges, paddings of any kind, blocks and panels of channels, many tiles, groups */
    TWO_DIRECTIONS("n1 c3 h11 w13 k5 r3 s3 pt2 pl1 pr3"), TWO_DIRECTIONS("n1 c2 h5 w7 k3 r3 s3 p4"),
    TWO_DIRECTIONS("n3 c17 h6 w11 k70 r3 s3 p1"), TWO_DIRECTIONS("n1 c18 h10 w7 k20 r3 s3 p1 g2"),
    TWO_DIRECTIONS("n1 c300 h4 w4 k20 r3 s3 p1 kept1"), TWO_DIRECTIONS("n1 c20 h4 w4 k300 r3 s3 p1"),
    TWO_DIRECTIONS("n1 c1030 h3 w2 k7 r3 s3 p1"), TWO_DIRECTIONS("n1 c7 h3 w3 k2100 r3 s3 p1"),
    TWO_DIRECTIONS("n1 c16 h26 w25 k33 r3 s3 p1"), TWO_DIRECTIONS("n1 c5 h9 w12 k18 r5 s5 p2"),
    TWO_DIRECTIONS("n2 c33 h6 w5 k17 r5 s5 pt1 pb3 pr4 kept1"), TWO_DIRECTIONS("n2 c32 h28 w28 k64 r5 s5 p2"),
    "conv2d.fwd f32 n1 c9 h7 w7 k21 r5 s5 p2 b1 res1 act1", "conv2d.fwd f64 n1 c3 h7 w6 k4 r3 s3 p1 b1 res1 act1",
    "conv2d.bwd_data f64 n1 c3 h7 w6 k4 r5 s5 p2", "conv2d.bwd_data f64 n1 c3 h7 w6 k4 r3 s3 p1",
    "conv2d.fwd f32 n2 c40 h6 w7 k20 r3 s3 p1 xf1", "conv2d.bwd_weights f32 n2 c40 h6 w7 k20 r3 s3 p1 xf1",
    "conv2d.bwd_weights f32 n3 c36 h9 w8 k40 r3 s3 st2 p1 xf1", "conv2d.fwd f32 n2 c8 h5 w5 k6 r3 s3 p1 g2 xf1",
    "conv2d.bwd_weights f32 n2 c8 h5 w5 k6 r3 s3 p1 g2 xf1",
    "conv2d.fwd f32 n2 c3 h5 w6 k16 r2 s3 p1 z4 t3 pf1 pk1 xf1",
    "conv2d.bwd_weights f32 n2 c3 h5 w6 k16 r2 s3 p1 z4 t3 pf1 pk1 xf1",
    THREE_DIRECTIONS("n2 c33 h5 w4 k35 r3 s3 p1 z5 t3"),
    /* few input channels, backward: one to four, tiles side by side, more than a panel of k, phases without taps */
    "conv2d.bwd_data f32 n2 c1 h9 w70 k20 r5 s5 st2 p2", "conv2d.bwd_data f32 n1 c2 h7 w140 k9 r3 s3 p1",
    "conv2d.bwd_data f32 n2 c3 h21 w37 k130 r7 s7 st2 p3", "conv2d.bwd_data f32 n1 c4 h6 w131 k33 r3 s3 st2 p1",
    "conv2d.bwd_data f32 n2 c3 h9 w9 k5 r3 s3 st3 d2 p1", "conv2d.bwd_data f32 n9 c3 h2 w3 k4 r3 s5 p2",
    "conv2d.bwd_data f32 n1 c3 h30 w45 k64 r7 s7 st2 p3", "conv2d.bwd_data f32 n2 c4 h20 w37 k20 r3 s3 p1",
    "conv2d.bwd_data f32 n1 c1 h20 w37 k100 r5 s4 st2 pt1 pl2",
    /* few input channels, forward and weights: tails of tiles, dilation, channels first, epilogues, chunks and panels
     */
    "conv2d.fwd f32 n2 c3 h30 w45 k64 r7 s7 st2 p3", "conv2d.fwd f32 n1 c1 h9 w70 k130 r5 s5 p2",
    "conv2d.fwd f32 n2 c2 h13 w22 k70 r3 s2 p2 dh3 dw2 sth2", "conv2d.fwd f32 n1 c4 h10 w19 k67 r3 s3 p1 b1 res1 act1",
    "conv2d.fwd f32 n2 c3 h17 w33 k68 r5 s4 p2 d2 b1 xf1", "conv2d.bwd_weights f32 n3 c3 h40 w37 k70 r7 s7 st2 p3",
    "conv2d.bwd_weights f32 n2 c2 h23 w22 k66 r3 s2 p2 dh3 dw2 sth2",
    "conv2d.bwd_weights f32 n2 c4 h25 w19 k9 r8 s8 p3", "conv2d.bwd_weights f32 n2 c3 h17 w33 k68 r5 s4 p2 d2 xf1",
    "conv2d.bwd_weights f32 n10 c1 h250 w250 k4 r2 s2",
    /* weights larger than images: strips outermost, several boxes, groups */
    "conv2d.fwd f32 n3 c160 h16 w16 k192 r3 s3 p1", "conv2d.fwd f32 n2 c320 h6 w6 k384 r3 s3 p1 g2 b1",
    /* groups of 2 to 16 channels in whole vectors */
    THREE_DIRECTIONS("n2 c32 h9 w11 k32 r3 s3 p1 g16"), THREE_DIRECTIONS("n1 c48 h7 w19 k48 r3 s3 st2 p1 g12"),
    THREE_DIRECTIONS("n2 c32 h6 w10 k32 r5 s4 p2 g8"), THREE_DIRECTIONS("n1 c64 h5 w12 k64 r3 s3 p2 d2 g8"),
    THREE_DIRECTIONS("n2 c64 h9 w12 k64 r3 s3 p1 g4"), "conv2d.fwd f32 n2 c16 h6 w9 k16 r3 s3 p1 g4 b1 res1 act1",
    /* cnn; the driver also runs the reference whole below 4e7 operations, so batches are small or large, not between */
    "conv2d.fwd f32 n4 c1 h28 w28 k32 r3 s3 p1 b1 act1", "conv2d.bwd_weights f32 n5 c1 h28 w28 k32 r3 s3 p1",
    THREE_DIRECTIONS("n7 c32 h14 w14 k64 r3 s3 p1"), "conv2d.bwd_weights f32 n64 c32 h14 w14 k64 r3 s3 p1",
    /* resnet18 on 32×32 images: batches as large as every path needs */
    "conv2d.fwd f32 n13 c3 h32 w32 k64 r3 s3 p1", "conv2d.bwd_weights f32 n32 c3 h32 w32 k64 r3 s3 p1",
    THREE_DIRECTIONS("n2 c64 h32 w32 k64 r3 s3 p1"), THREE_DIRECTIONS("n3 c64 h32 w32 k128 r3 s3 st2 p1"),
    THREE_DIRECTIONS("n11 c64 h32 w32 k128 r1 s1 st2"), THREE_DIRECTIONS("n2 c128 h16 w16 k128 r3 s3 p1"),
    THREE_DIRECTIONS("n2 c128 h16 w16 k256 r3 s3 st2 p1"), THREE_DIRECTIONS("n11 c128 h16 w16 k256 r1 s1 st2"),
    THREE_DIRECTIONS("n5 c256 h8 w8 k256 r3 s3 p1"), THREE_DIRECTIONS("n13 c256 h8 w8 k512 r3 s3 st2 p1"),
    THREE_DIRECTIONS("n11 c256 h8 w8 k512 r1 s1 st2"), THREE_DIRECTIONS("n13 c512 h4 w4 k512 r3 s3 p1"),
    /* Winograd: the weights' gradient over several slices, chunks, panels and blocks, tails of both channel counts */
    "conv2d.bwd_weights f32 n1 c9 h5 w7 k10 r3 s3", "conv2d.bwd_weights f32 n2 c26 h6 w7 k10 r3 s3 p1 g2",
    "conv2d.bwd_weights f32 n12 c70 h8 w6 k130 r3 s3 p1", "conv2d.bwd_weights f32 n2 c5 h9 w4 k66 r3 s3 pt1 pl2 pr3",
    "conv2d.bwd_weights f32 n1 c70 h11 w7 k3 r3 s3 p2", "conv2d.bwd_weights f32 n1 c17 h41 w37 k2 r3 s3 p1",
    "conv2d.bwd_weights f32 n5 c1 h80 w70 k1 r3 s3 p1", "conv2d.bwd_weights f32 n1 c10 h9 w7 k9 r5 s5 p2",
    "conv2d.bwd_weights f32 n2 c34 h6 w5 k3 r5 s5 p2", "conv2d.bwd_weights f32 n4 c1 h70 w71 k1 r5 s5 pt1 pl3",
    "conv2d.bwd_weights f64 n2 c3 h9 w8 k4 r3 s3 p1", "conv2d.bwd_weights f64 n1 c2 h9 w8 k3 r5 s5 p2",
    /* found by the soak: a slice that is the last vector alone, which begins among the channels of the one before */
    "conv2d.bwd_weights f32 n2 c20 h23 w5 k20 r15 s15 pt2 pb1 pl14 pr1 g20", NULL};
