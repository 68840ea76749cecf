/* twiddles.h: cos(2πi/192), i = 0 … 191, each rounded once to binary32: the constants of every FFT length here, since
 * 16, 24, 32, 48 and 64 divide 192. Part of the classes' definition. */
#ifndef ISO_KERNELS_CONV_FFT_TWIDDLES_H
#define ISO_KERNELS_CONV_FFT_TWIDDLES_H

enum { ISO__FFT_CIRCLE = 192 };
/* clang-format off */
#define ISO__FFT_COSINES \
  0x1p+0f, 0x1.ffb9d2p-1f, 0x1.fee75ep-1f, 0x1.fd88dap-1f, 0x1.fb9eaap-1f, 0x1.f9295p-1f, 0x1.f6297cp-1f,             \
  0x1.f2ap-1f, 0x1.ee8dd4p-1f, 0x1.e9f416p-1f, 0x1.e4d406p-1f, 0x1.df2f1p-1f, 0x1.d906bcp-1f, 0x1.d25cbep-1f,         \
  0x1.cb32e8p-1f, 0x1.c38b3p-1f, 0x1.bb67aep-1f, 0x1.b2caap-1f, 0x1.a9b662p-1f, 0x1.a02d7p-1f, 0x1.963268p-1f,        \
  0x1.8bc806p-1f, 0x1.80f126p-1f, 0x1.75b0bep-1f, 0x1.6a09e6p-1f, 0x1.5dffdp-1f, 0x1.5195c6p-1f, 0x1.44cf32p-1f,      \
  0x1.37af94p-1f, 0x1.2a3a84p-1f, 0x1.1c73b4p-1f, 0x1.0e5ee8p-1f, 0x1p-1f, 0x1.e2b5d4p-2f, 0x1.c4e754p-2f,            \
  0x1.a69cacp-2f, 0x1.87de2ap-2f, 0x1.68b43cp-2f, 0x1.49276ep-2f, 0x1.294062p-2f, 0x1.0907dcp-2f, 0x1.d10d5cp-3f,     \
  0x1.8f8b84p-3f, 0x1.4d9c24p-3f, 0x1.0b515p-3f, 0x1.917a6cp-4f, 0x1.0be426p-4f, 0x1.0c08e4p-5f, 0x0p+0f,             \
  -0x1.0c08e4p-5f, -0x1.0be426p-4f, -0x1.917a6cp-4f, -0x1.0b515p-3f, -0x1.4d9c24p-3f, -0x1.8f8b84p-3f,                \
  -0x1.d10d5cp-3f, -0x1.0907dcp-2f, -0x1.294062p-2f, -0x1.49276ep-2f, -0x1.68b43cp-2f, -0x1.87de2ap-2f,               \
  -0x1.a69cacp-2f, -0x1.c4e754p-2f, -0x1.e2b5d4p-2f, -0x1p-1f, -0x1.0e5ee8p-1f, -0x1.1c73b4p-1f, -0x1.2a3a84p-1f,     \
  -0x1.37af94p-1f, -0x1.44cf32p-1f, -0x1.5195c6p-1f, -0x1.5dffdp-1f, -0x1.6a09e6p-1f, -0x1.75b0bep-1f,                \
  -0x1.80f126p-1f, -0x1.8bc806p-1f, -0x1.963268p-1f, -0x1.a02d7p-1f, -0x1.a9b662p-1f, -0x1.b2caap-1f,                 \
  -0x1.bb67aep-1f, -0x1.c38b3p-1f, -0x1.cb32e8p-1f, -0x1.d25cbep-1f, -0x1.d906bcp-1f, -0x1.df2f1p-1f,                 \
  -0x1.e4d406p-1f, -0x1.e9f416p-1f, -0x1.ee8dd4p-1f, -0x1.f2ap-1f, -0x1.f6297cp-1f, -0x1.f9295p-1f,                   \
  -0x1.fb9eaap-1f, -0x1.fd88dap-1f, -0x1.fee75ep-1f, -0x1.ffb9d2p-1f, -0x1p+0f, -0x1.ffb9d2p-1f, -0x1.fee75ep-1f,     \
  -0x1.fd88dap-1f, -0x1.fb9eaap-1f, -0x1.f9295p-1f, -0x1.f6297cp-1f, -0x1.f2ap-1f, -0x1.ee8dd4p-1f,                   \
  -0x1.e9f416p-1f, -0x1.e4d406p-1f, -0x1.df2f1p-1f, -0x1.d906bcp-1f, -0x1.d25cbep-1f, -0x1.cb32e8p-1f,                \
  -0x1.c38b3p-1f, -0x1.bb67aep-1f, -0x1.b2caap-1f, -0x1.a9b662p-1f, -0x1.a02d7p-1f, -0x1.963268p-1f,                  \
  -0x1.8bc806p-1f, -0x1.80f126p-1f, -0x1.75b0bep-1f, -0x1.6a09e6p-1f, -0x1.5dffdp-1f, -0x1.5195c6p-1f,                \
  -0x1.44cf32p-1f, -0x1.37af94p-1f, -0x1.2a3a84p-1f, -0x1.1c73b4p-1f, -0x1.0e5ee8p-1f, -0x1p-1f, -0x1.e2b5d4p-2f,     \
  -0x1.c4e754p-2f, -0x1.a69cacp-2f, -0x1.87de2ap-2f, -0x1.68b43cp-2f, -0x1.49276ep-2f, -0x1.294062p-2f,               \
  -0x1.0907dcp-2f, -0x1.d10d5cp-3f, -0x1.8f8b84p-3f, -0x1.4d9c24p-3f, -0x1.0b515p-3f, -0x1.917a6cp-4f,                \
  -0x1.0be426p-4f, -0x1.0c08e4p-5f, 0x0p+0f, 0x1.0c08e4p-5f, 0x1.0be426p-4f, 0x1.917a6cp-4f, 0x1.0b515p-3f,           \
  0x1.4d9c24p-3f, 0x1.8f8b84p-3f, 0x1.d10d5cp-3f, 0x1.0907dcp-2f, 0x1.294062p-2f, 0x1.49276ep-2f, 0x1.68b43cp-2f,     \
  0x1.87de2ap-2f, 0x1.a69cacp-2f, 0x1.c4e754p-2f, 0x1.e2b5d4p-2f, 0x1p-1f, 0x1.0e5ee8p-1f, 0x1.1c73b4p-1f,            \
  0x1.2a3a84p-1f, 0x1.37af94p-1f, 0x1.44cf32p-1f, 0x1.5195c6p-1f, 0x1.5dffdp-1f, 0x1.6a09e6p-1f, 0x1.75b0bep-1f,      \
  0x1.80f126p-1f, 0x1.8bc806p-1f, 0x1.963268p-1f, 0x1.a02d7p-1f, 0x1.a9b662p-1f, 0x1.b2caap-1f, 0x1.bb67aep-1f,       \
  0x1.c38b3p-1f, 0x1.cb32e8p-1f, 0x1.d25cbep-1f, 0x1.d906bcp-1f, 0x1.df2f1p-1f, 0x1.e4d406p-1f, 0x1.e9f416p-1f,       \
  0x1.ee8dd4p-1f, 0x1.f2ap-1f, 0x1.f6297cp-1f, 0x1.f9295p-1f, 0x1.fb9eaap-1f, 0x1.fd88dap-1f, 0x1.fee75ep-1f,         \
  0x1.ffb9d2p-1f
/* clang-format on */
/* Two turns, so that sin(2πi/192) = cos(2π(i + 144)/192) needs no modulus. */
static const float iso__fft_cosine[2 * ISO__FFT_CIRCLE] = {ISO__FFT_COSINES, ISO__FFT_COSINES};
static const float *const iso__fft_sine = iso__fft_cosine + ISO__FFT_CIRCLE / 4 * 3;
#define ISO__FFT_SIN_60 0x1.bb67aep-1f /* √3/2 */
#define ISO__FFT_SIN_45 0x1.6a09e6p-1f /* √½ */
#endif
