/* Polynomials of F(w) = erf⁻¹(a)/a, w = −log(1 − a²): binary32's whole answer, binary64's first guess. */
#ifndef ISO__NUMERIC_QUANTILE_TABLES_H
#define ISO__NUMERIC_QUANTILE_TABLES_H

/* in w ≤ 5.5; error 2^-33.6 */
ISO__TABLE double quantile_centre[] = {0x1.c5bf891b159bfp-1,  0x1.db29fb68efab7p-3,   0x1.7a72bcb4d9b4ap-7,
                                       -0x1.320da39be9644p-9, -0x1.0d1af09513547p-13, 0x1.8ad9d9c417be5p-15,
                                       0x1.9ad30867bc618p-20, -0x1.647df01d5778fp-21, -0x1.b8e261560f6b4p-23,
                                       0x1.4b4bbfdde5d56p-24, -0x1.669efb49e942fp-27, 0x1.7cddf16228408p-31,
                                       -0x1.4dc6b3ae34a84p-36};
/* in √w − 3.2, 2.345 ≤ √w ≤ 4.2; error 2^-36.4 */
ISO__TABLE double quantile_side[] = {0x1.844e34098cee7p+1,  0x1.0133861e437a5p+0,   0x1.877520dc3db15p-8,
                                     -0x1.196c6c0061211p-8, 0x1.82c61824d8f16p-9,   -0x1.0533f7c713be2p-9,
                                     0x1.1aa6f87ad19a1p-10, -0x1.7821cd83bbba2p-12, -0x1.7f2b25c7e8b81p-17,
                                     0x1.92232506278b1p-14, -0x1.d07987358e904p-15, 0x1.cf78857441703p-18,
                                     0x1.0f53790a2865ep-17, -0x1.b6aaa75923e97p-19};
/* in √w − 7, 4.2 ≤ √w ≤ 10.3; error 2^-31.6 */
ISO__TABLE double quantile_tail[] = {0x1.b79e0499aea87p+2,   0x1.0233529c37488p+0,   -0x1.0cc6e608b8509p-11,
                                     0x1.a58354af9acbbp-18,  0x1.9607e0c474f99p-18,  -0x1.b1c1d22e9c7f6p-20,
                                     0x1.5390fb7245644p-22,  -0x1.db8881c25abedp-25, 0x1.1cd00561b2d6cp-27,
                                     -0x1.1f92fe53227b9p-30, 0x1.da48357be3d18p-33,  -0x1.d40fe06de06d2p-35,
                                     0x1.7f44d4356224dp-38};

#endif
