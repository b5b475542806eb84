/*
 * Kernels, included once per instruction set with NAME(x), ISA (a target attribute), LANES (floats of one
 * register) and TILE_ROWS defined. Vectors are the compiler's own. Each output element has one accumulator that runs
 * along the inner dimension in order; that is what makes results independent of batching.
 */
#include <math.h>
#include <string.h>
#include "engine.h"

/* Vectors pass between inlined functions only, so the warning about their calling convention does not apply. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline)) ISA
#define ROW_BLOCK 120   /* rows of one pass, a multiple of 6: with the inner block 120 KiB, which the second cache holds */
#define INNER_BLOCK 256 /* inner elements of one pass: a panel of them is 16 KiB and stays in the first cache */

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef int veci __attribute__((vector_size(4 * LANES)));
typedef float vecu __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

#define LOAD(p) (*(const vecu *)(p))
#define STORE(p, value) (*(vecu *)(p) = (value))

/* ---- Products ---- */

#define ROWS1(X) X(0)
#define ROWS2(X) ROWS1(X) X(1)
#define ROWS3(X) ROWS2(X) X(2)
#define ROWS4(X) ROWS3(X) X(3)
#define ROWS5(X) ROWS4(X) X(4)
#define ROWS6(X) ROWS5(X) X(5)

/* The 16 columns of a panel are two vectors or four. */
#if LANES == 8
#define COLUMNS(X, r) X(r, 0) X(r, 1)
#else
#define COLUMNS(X, r) X(r, 0) X(r, 1) X(r, 2) X(r, 3)
#endif

#define SUM_CLEAR(r, v) vec s##r##v = {0};
#define SUM_READ(r, v) s##r##v = LOAD(c + r * ldc + v * LANES);
#define SUM_STEP(r, v) s##r##v += x * b##v;
#define SUM_WRITE(r, v) STORE(c + r * ldc + v * LANES, s##r##v);
#define B_READ(r, v) const vec b##v = LOAD(b + v * LANES);
#define ROW_CLEAR(r) COLUMNS(SUM_CLEAR, r)
#define ROW_READ(r) COLUMNS(SUM_READ, r)
#define ROW_WRITE(r) COLUMNS(SUM_WRITE, r)
#define ROW_STEP(r)               \
  {                               \
    const float x = a[r * a_row]; \
    COLUMNS(SUM_STEP, r)          \
  }

/* A tile of M rows by 16 columns, its sums in registers. */
#define TILE(M)                                                                                             \
  ISA static void NAME(tile##M)(int k, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner, const float *b, \
                                ptrdiff_t ldb, float *c, ptrdiff_t ldc, int accumulate) {                   \
    ROWS##M(ROW_CLEAR)                                                                                      \
    if (accumulate) { ROWS##M(ROW_READ) }                                                                   \
    for (int i = 0; i < k; i++, a += a_inner, b += ldb) {                                                   \
      COLUMNS(B_READ, 0)                                                                                    \
      ROWS##M(ROW_STEP)                                                                                     \
    }                                                                                                       \
    ROWS##M(ROW_WRITE)                                                                                      \
  }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

/* One row by V vectors of several panels: enough independent sums to hide the latency of an addition. */
#define VECTORS4(X) X(0) X(1) X(2) X(3)
#define VECTORS8(X) VECTORS4(X) X(4) X(5) X(6) X(7)
#define WIDE_CLEAR(v) vec s##v = {0};
#define WIDE_READ(v) s##v = LOAD(c + v * LANES);
#define WIDE_STEP(v) s##v += x * LOAD(b + v * LANES / PANEL * panel_stride + v * LANES % PANEL);
#define WIDE_WRITE(v) STORE(c + v * LANES, s##v);
#define WIDE(V)                                                                                                 \
  ISA static void NAME(wide##V)(int k, const float *a, ptrdiff_t a_inner, const float *b, ptrdiff_t panel_stride, \
                                ptrdiff_t ldb, float *c, int accumulate) {                                      \
    VECTORS##V(WIDE_CLEAR)                                                                                      \
    if (accumulate) { VECTORS##V(WIDE_READ) }                                                                   \
    for (int i = 0; i < k; i++, a += a_inner, b += ldb) {                                                       \
      const float x = *a;                                                                                       \
      VECTORS##V(WIDE_STEP)                                                                                     \
    }                                                                                                           \
    VECTORS##V(WIDE_WRITE)                                                                                      \
  }
WIDE(4)
WIDE(8)

INLINE void NAME(tile)(int m, int k, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner, const float *b, ptrdiff_t ldb,
                       float *c, ptrdiff_t ldc, int accumulate) {
  switch (m) {
    case 1: NAME(tile1)(k, a, a_row, a_inner, b, ldb, c, ldc, accumulate); return;
    case 2: NAME(tile2)(k, a, a_row, a_inner, b, ldb, c, ldc, accumulate); return;
    case 3: NAME(tile3)(k, a, a_row, a_inner, b, ldb, c, ldc, accumulate); return;
    case 4: NAME(tile4)(k, a, a_row, a_inner, b, ldb, c, ldc, accumulate); return;
    case 5: NAME(tile5)(k, a, a_row, a_inner, b, ldb, c, ldc, accumulate); return;
    default: NAME(tile6)(k, a, a_row, a_inner, b, ldb, c, ldc, accumulate); return;
  }
}

/* Rows of one block by all columns, over one block of the inner dimension. */
INLINE void NAME(gemm_block)(int m, int n, int inner, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner,
                             const float *b, ptrdiff_t panel_stride, ptrdiff_t ldb, float *c, ptrdiff_t ldc,
                             int accumulate) {
  int column = 0;
  for (; m == 1 && column + 8 * LANES <= n; column += 8 * LANES, b += 8 * LANES / PANEL * panel_stride)
    NAME(wide8)(inner, a, a_inner, b, panel_stride, ldb, c + column, accumulate);
  for (; m == 1 && column + 4 * LANES <= n; column += 4 * LANES, b += 4 * LANES / PANEL * panel_stride)
    NAME(wide4)(inner, a, a_inner, b, panel_stride, ldb, c + column, accumulate);
  for (; column < n; column += PANEL, b += panel_stride)
    for (int row = 0; row < m; row += TILE_ROWS)
      NAME(tile)(m - row < TILE_ROWS ? m - row : TILE_ROWS, inner, a + row * a_row, a_row, a_inner, b, ldb, c + row * ldc + column, ldc,
                 accumulate);
}

/* The inner dimension is cut into blocks; a later block starts from the sums of the earlier, so the order stays. */
ISA static void NAME(gemm)(int m, int n, int k, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner, const float *b,
                           ptrdiff_t panel_stride, ptrdiff_t ldb, float *c, ptrdiff_t ldc, int accumulate) {
  for (int start = 0; start < k; start += INNER_BLOCK) {
    const int inner = k - start < INNER_BLOCK ? k - start : INNER_BLOCK;
    for (int row = 0; row < m; row += ROW_BLOCK)
      NAME(gemm_block)(m - row < ROW_BLOCK ? m - row : ROW_BLOCK, n, inner, a + start * a_inner + row * a_row, a_row,
                       a_inner, b + start * ldb, panel_stride, ldb, c + row * ldc, ldc, accumulate || start > 0);
  }
}

/* ---- Element-wise ---- */

INLINE float NAME(sum_lanes)(vec x) {
#if LANES == 8
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
#else
  return (x[0] + x[2]) + (x[1] + x[3]);
#endif
}

INLINE vec NAME(broadcast)(float x) {
  return (vec){0} + x;
}

INLINE vec NAME(choose)(veci mask, vec yes, vec no) {
  return (vec)((mask & (veci)yes) | (~mask & (veci)no));
}

/* exp by a degree-5 polynomial on [-ln2/2, ln2/2] and an integer exponent; not-a-number passes through. */
INLINE vec NAME(exponential)(vec x) {
  const vec low = NAME(broadcast)(-87.0f), high = NAME(broadcast)(88.0f);
  x = NAME(choose)(x < low, low, x);
  x = NAME(choose)(x > high, high, x);
  const vec scaled = x * 1.44269504088896341f;
  const veci half = (veci)NAME(broadcast)(0.5f);
  const vec nudge = (vec)(((veci)scaled & (int)0x80000000) | half);
  const veci exponent = __builtin_convertvector(scaled + nudge, veci);
  const vec whole = __builtin_convertvector(exponent, vec);
  vec r = x - whole * 0.693359375f;
  r = r + whole * 2.12194440e-4f;
  vec p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const vec value = (p * r) * r + r + 1.0f;
  return value * (vec)((exponent + 127) << 23);
}

ISA static void NAME(norm)(int rows, int width, const float *x, ptrdiff_t ldx, const float *gain, float *y,
                           ptrdiff_t ldy, float *scales) {
  for (int row = 0; row < rows; row++, x += ldx, y += ldy) {
    vec s0 = {0}, s1 = {0};
    for (int i = 0; i < width; i += 2 * LANES) {
      const vec x0 = LOAD(x + i), x1 = LOAD(x + i + LANES);
      s0 += x0 * x0;
      s1 += x1 * x1;
    }
    const float scale = 1.0f / sqrtf(NAME(sum_lanes)(s0 + s1) / (float)width + 1e-6f);
    for (int i = 0; i < width; i += LANES) STORE(y + i, LOAD(x + i) * scale * LOAD(gain + i));
    scales[row] = scale;
  }
}

ISA static void NAME(norm_back)(int rows, int width, const float *x, ptrdiff_t ldx, const float *scales,
                                const float *gain, const float *dy, ptrdiff_t lddy, float *dx, ptrdiff_t lddx,
                                float *dgain) {
  for (int row = 0; row < rows; row++, x += ldx, dy += lddy, dx += lddx) {
    const float scale = scales[row];
    vec dot = {0};
    for (int i = 0; i < width; i += LANES) {
      const vec normed = LOAD(x + i) * scale, d = LOAD(dy + i);
      dot += normed * (d * LOAD(gain + i));
      STORE(dgain + i, LOAD(dgain + i) + normed * d);
    }
    const float mean = NAME(sum_lanes)(dot) / (float)width;
    for (int i = 0; i < width; i += LANES) {
      const vec through = LOAD(dy + i) * LOAD(gain + i) - LOAD(x + i) * scale * mean;
      STORE(dx + i, LOAD(dx + i) + through * scale);
    }
  }
}

INLINE vec NAME(sigmoid)(vec x) {
  return 1.0f / (1.0f + NAME(exponential)(x * -1.702f));
}

ISA static void NAME(gelu)(int rows, int width, const float *x, float *y, ptrdiff_t ld) {
  for (int row = 0; row < rows; row++, x += ld, y += ld)
    for (int i = 0; i < width; i += LANES) STORE(y + i, LOAD(x + i) * NAME(sigmoid)(LOAD(x + i)));
}

ISA static void NAME(gelu_back)(int rows, int width, const float *x, float *dy, ptrdiff_t ld) {
  for (int row = 0; row < rows; row++, x += ld, dy += ld)
    for (int i = 0; i < width; i += LANES) {
      const vec value = LOAD(x + i), s = NAME(sigmoid)(value);
      STORE(dy + i, LOAD(dy + i) * (s + value * 1.702f * s * (1.0f - s)));
    }
}

/* Dimension i turns with dimension i + 16 of its head. */
ISA static void NAME(rotate)(float *qkv, int width, const float *cosines, const float *sines, int direction) {
  const float query_scale = 0.17677669529663687f;
  for (int at = 0; at < 2 * width; at += HEAD)
    for (int i = 0; i < HEAD / 2; i += LANES) {
      float *first = qkv + at + i, *second = first + HEAD / 2;
      const float scale = at < width ? query_scale : 1.0f;
      const vec c = LOAD(cosines + i) * scale, s = LOAD(sines + i) * (scale * (float)direction);
      const vec x = LOAD(first), y = LOAD(second);
      STORE(first, x * c - y * s);
      STORE(second, x * s + y * c);
    }
}

ISA static float NAME(distribution)(int width, const float *z, float scale, float *e, float *max, float *dot) {
  vec highest = LOAD(z) * scale;
  for (int i = LANES; i < width; i += LANES) {
    const vec x = LOAD(z + i) * scale;
    highest = NAME(choose)(x > highest, x, highest);
  }
  float top = highest[0];
  for (int i = 1; i < LANES; i++) top = highest[i] > top ? highest[i] : top;
  vec sum = {0}, dots = {0};
  for (int i = 0; i < width; i += LANES) {
    const vec shifted = LOAD(z + i) * scale - top;
    const vec value = NAME(exponential)(shifted);
    sum += value;
    dots += value * shifted;
    STORE(e + i, value);
  }
  *max = top;
  *dot = NAME(sum_lanes)(dots);
  return NAME(sum_lanes)(sum);
}

ISA static void NAME(add)(size_t count, float *a, const float *b) {
  size_t i = 0;
  for (; i + LANES <= count; i += LANES) STORE(a + i, LOAD(a + i) + LOAD(b + i));
  for (; i < count; i++) a[i] += b[i];
}

ISA static void NAME(adam)(size_t count, float *weights, float *m, float *v, const float *gradient,
                           const Adam *options) {
  const Adam o = *options;
  for (size_t i = 0; i < count; i++) {
    const float g = gradient[i] * o.gradient_scale;
    const float first = o.beta1 * m[i] + (1.0f - o.beta1) * g;
    const float second = o.beta2 * v[i] + (1.0f - o.beta2) * g * g;
    const float root = __builtin_sqrtf(second) * o.root_correction2 + o.epsilon;
    m[i] = first;
    v[i] = second;
    weights[i] = weights[i] - o.decay * weights[i] - o.step_size * first / root;
  }
}

#include "attention.h"

const Kernels NAME(kernels) = {
    .name = ISA_TITLE,
    .gemm = NAME(gemm),
    .norm = NAME(norm),
    .norm_back = NAME(norm_back),
    .gelu = NAME(gelu),
    .gelu_back = NAME(gelu_back),
    .rotate = NAME(rotate),
    .attend = NAME(attend),
    .attend_back = NAME(attend_back),
    .attend_cached = NAME(attend_cached),
    .distribution = NAME(distribution),
    .add = NAME(add),
    .adam = NAME(adam),
};
