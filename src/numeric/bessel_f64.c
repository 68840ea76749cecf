/* The modified Bessel functions I0 and I1 in binary64: bessel_f32.h's constructions with longer polynomials. */
#include "math_f64.h"
#include "math_f64_parts.h"

/* I0 in h = x²/4 ≤ 16; error below 2^-54 */
ISO__TABLE double i0_near[] = {
    0x1.0000000000000p+0,  0x1.0000000000000p+0,  0x1.0000000000000p-2,  0x1.c71c71c71c71cp-6,   0x1.c71c71c71c71cp-10,
    0x1.23456789abcdfp-14, 0x1.02e85c0898b71p-19, 0x1.522a43f654868p-25, 0x1.522a43f65488cp-31,  0x1.0b313289bde14p-37,
    0x1.5601885e68e4fp-44, 0x1.69ca9cf342390p-51, 0x1.4197a7fd96ed3p-58, 0x1.e72558570f623p-66,  0x1.3e22e226f3e04p-73,
    0x1.69f713cc6a86cp-81, 0x1.6a02950981bb3p-89, 0x1.4032f4aa4ebe5p-97, 0x1.00a887bfab721p-105, 0x1.45034715e8d36p-114,
    0x1.5003453888300p-122};
/* I1/(x/2), likewise */
ISO__TABLE double i1_near[] = {0x1.0000000000000p+0,   0x1.0000000000000p-1,   0x1.5555555555555p-4,
                               0x1.c71c71c71c71cp-8,   0x1.6c16c16c16c17p-12,  0x1.845c8a0ce5129p-17,
                               0x1.27e4fb7789f5cp-22,  0x1.522a43f654869p-28,  0x1.2c9758daf5cdcp-34,
                               0x1.ab81ea75fcc0fp-41,  0x1.f17697cf20861p-48,  0x1.e2637bef4b8bbp-55,
                               0x1.8bce5896336dfp-62,  0x1.165e7bd43a82ep-69,  0x1.535864d18d85bp-77,
                               0x1.69f74bf6bf9aap-85,  0x1.54b4bcd4c4ca1p-93,  0x1.1cb233316953bp-101,
                               0x1.af7259e3f7fb9p-110, 0x1.06c6cb001d468p-118, 0x1.f75ef793f926dp-127};
/* √x·e^−x·I0(x) in 16/x − 1, x ≥ 8; error 2^-53.8 */
ISO__TABLE double i0_far[] = {
    0x1.9bd428ad249a5p-2,   0x1.b87969bb93bd2p-9,  0x1.1daa72b5e22b2p-13,  0x1.75e5ee6fabb85p-17,
    0x1.8e513a7ddffecp-20,  0x1.3f49af1ca6576p-22, 0x1.7d0f0727d6a9dp-24,  0x1.51cb3832a6046p-25,
    0x1.723509510cd4ap-26,  0x1.03fa571f405c2p-27, -0x1.cfe4f8bebe7e4p-28, -0x1.ceb2c3f3c2085p-27,
    -0x1.72b4495699537p-28, 0x1.09d8aa3fc68b0p-27, 0x1.fcf3dd682ab36p-28,  -0x1.0c5d8b2e86f47p-28,
    -0x1.9683a45b51615p-28, 0x1.2159f0c508719p-29, 0x1.ee943d682b9f4p-29,  -0x1.3ab3b1c19a518p-30,
    -0x1.b5e3e7f99d058p-30, 0x1.1998ba2c8ef47p-31, 0x1.ec7656d43152ap-32,  -0x1.4b4eae130efc2p-33,
    -0x1.03b4aa8a9e407p-34, 0x1.6e48b56608f90p-36};
/* √x·e^−x·I1(x), likewise; error 2^-55.4 */
ISO__TABLE double i1_far[] = {
    0x1.8ebe783a84030p-2,   -0x1.3f796198ee63fp-7,  -0x1.cbc54df1e894cp-13, -0x1.f89c230446f74p-17,
    -0x1.ec8e107bd7eaap-20, -0x1.7613865ea6e9ap-22, -0x1.ad8d43e5d60bep-24, -0x1.727702ec186d3p-25,
    -0x1.9191ff33370adp-26, -0x1.21f47a4eb566bp-27, 0x1.ceff3cea7c3a4p-28,  0x1.e413f0678e137p-27,
    0x1.99d190fe908dap-28,  -0x1.0c96c7afcb02cp-27, -0x1.0e2bb88351649p-27, 0x1.05656ba38c1b6p-28,
    0x1.aa440cf09ce30p-28,  -0x1.11c9f66d690fcp-29, -0x1.01ef463d9c576p-28, 0x1.268bd450a314cp-30,
    0x1.c7aed1ee533f7p-30,  -0x1.07d06c81c1d24p-31, -0x1.fff33f3b3e75ap-32, 0x1.37bea5c8dbcccp-33,
    0x1.0ddc7620a9205p-34,  -0x1.5a29b473f1663p-36};

static ISO__HD double far(const double *table, double a) {
  return horner(table, sizeof i0_far / sizeof *i0_far, 16.0 / a - 1.0) / sqrt(a);
}
/* far·e^a: half of the exponent at a time, since e^a passes the range before the product does. */
static ISO__HD double grown(double y, double a) {
  if (a > 720.0) return (double)INFINITY;
  const double e = iso__exp_f64(0.5 * a);
  return y * e * e;
}
static ISO__HD double even_near(double a) { return HORNER(i0_near, 0.25 * a * a); }
static ISO__HD double odd_near(double a) { return 0.5 * a * HORNER(i1_near, 0.25 * a * a); }

ISO__SHARED double iso__i0_f64(double x) {
  const double a = fabs(x);
  return a != a ? x : a < 8.0 ? even_near(a) : grown(far(i0_far, a), a);
}
ISO__SHARED double iso__i0e_f64(double x) {
  const double a = fabs(x);
  return a != a ? x : a < 8.0 ? even_near(a) * iso__exp_f64(-a) : far(i0_far, a);
}
ISO__SHARED double iso__i1_f64(double x) {
  const double a = fabs(x);
  return a != a ? x : copysign(a < 8.0 ? odd_near(a) : grown(far(i1_far, a), a), x);
}
ISO__SHARED double iso__i1e_f64(double x) {
  const double a = fabs(x);
  return a != a ? x : copysign(a < 8.0 ? odd_near(a) * iso__exp_f64(-a) : far(i1_far, a), x);
}
