/* item_body.h: one matrix of a problem, once per precision. */
static void NAMED(item)(const iso_linalg_problem *p, const iso_linalg_args *args, int64_t i, void *scratch) {
  const int64_t m = p->m, n = p->n, k = p->k, least = iso__linalg_least(p);
  const REAL *a = (const REAL *)args->a + i * m * n;
  REAL *x = args->x, *y = args->y, *z = args->z;
  switch (p->head.op) {
  case ISO__OP_CHOLESKY: NAMED(cholesky)(n, a, x + i * n * n, scratch); break;
  case ISO__OP_TRIANGULAR_SOLVE: NAMED(triangular)(p, a, (const REAL *)args->b + i * n * k, x + i * n * k); break;
  case ISO__OP_LU: NAMED(lu)(m, n, a, x + i * m * n, args->pivots + i * least); break;
  case ISO__OP_QR: NAMED(qr)(m, n, k, a, x + i * m * k, y + i * k * n, scratch); break;
  case ISO__OP_EIGH: NAMED(eigh)(n, a, x + i * n, y + i * n * n, scratch); break;
  default: NAMED(svd)(m, n, a, x + i * m * least, y + i * least, z + i * least * n, scratch); break;
  }
}
