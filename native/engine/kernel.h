/*
 * Kernels, included once per instruction set with ISA (a target attribute) and NAME(x) defined. Vectors are the
 * compiler's own eight-wide floats: AVX2 keeps one in a register, the generic build splits them. Each output element
 * has one accumulator that runs along the inner dimension in order; that is what makes results independent of batching.
 */
#include <math.h>
#include <string.h>
#include "engine.h"

/* Vectors pass between inlined functions only, so the warning about their calling convention does not apply. */
#pragma GCC diagnostic ignored "-Wpsabi"

#define INLINE static inline __attribute__((always_inline)) ISA
#define INNER_BLOCK 256 /* inner elements of one pass: a panel of them is 16 KiB and stays in the first cache */

typedef float v8 __attribute__((vector_size(32)));
typedef int v8i __attribute__((vector_size(32)));
typedef float v8u __attribute__((vector_size(32), aligned(4), may_alias));

#define LOAD(p) (*(const v8u *)(p))
#define STORE(p, value) (*(v8u *)(p) = (value))

/* ---- Products ---- */

#define ROWS1(X) X(0)
#define ROWS2(X) ROWS1(X) X(1)
#define ROWS3(X) ROWS2(X) X(2)
#define ROWS4(X) ROWS3(X) X(3)
#define ROWS5(X) ROWS4(X) X(4)
#define ROWS6(X) ROWS5(X) X(5)

#define TILE_CLEAR(r) v8 s##r##0 = {0}, s##r##1 = {0};
#define TILE_READ(r) s##r##0 = LOAD(c + r * ldc), s##r##1 = LOAD(c + r * ldc + 8);
#define TILE_STEP(r)            \
  {                             \
    const float x = a[r * a_row]; \
    s##r##0 += x * b0;          \
    s##r##1 += x * b1;          \
  }
#define TILE_WRITE(r) STORE(c + r * ldc, s##r##0), STORE(c + r * ldc + 8, s##r##1);

/* A tile of M rows by 16 columns: 2 * M accumulators in registers. */
#define TILE(M)                                                                                                    \
  ISA static void NAME(tile##M)(int k, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner, const float *b,        \
                                ptrdiff_t ldb, float *c, ptrdiff_t ldc, int accumulate) {                          \
    ROWS##M(TILE_CLEAR)                                                                                            \
    if (accumulate) { ROWS##M(TILE_READ) }                                                                         \
    for (int i = 0; i < k; i++, a += a_inner, b += ldb) {                                                          \
      const v8 b0 = LOAD(b), b1 = LOAD(b + 8);                                                                     \
      ROWS##M(TILE_STEP)                                                                                           \
    }                                                                                                              \
    ROWS##M(TILE_WRITE)                                                                                            \
  }
TILE(1)
TILE(2)
TILE(3)
TILE(4)
TILE(5)
TILE(6)

/* One row by four panels: enough independent sums to hide the latency of an addition when there is a single row. */
ISA static void NAME(tile_wide)(int k, const float *a, ptrdiff_t a_inner, const float *b, ptrdiff_t panel_stride,
                                ptrdiff_t ldb, float *c, int accumulate) {
  v8 s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0}, s4 = {0}, s5 = {0}, s6 = {0}, s7 = {0};
  if (accumulate) {
    s0 = LOAD(c), s1 = LOAD(c + 8), s2 = LOAD(c + 16), s3 = LOAD(c + 24);
    s4 = LOAD(c + 32), s5 = LOAD(c + 40), s6 = LOAD(c + 48), s7 = LOAD(c + 56);
  }
  for (int i = 0; i < k; i++, a += a_inner, b += ldb) {
    const float x = *a;
    const float *q1 = b + panel_stride, *q2 = q1 + panel_stride, *q3 = q2 + panel_stride;
    s0 += x * LOAD(b), s1 += x * LOAD(b + 8), s2 += x * LOAD(q1), s3 += x * LOAD(q1 + 8);
    s4 += x * LOAD(q2), s5 += x * LOAD(q2 + 8), s6 += x * LOAD(q3), s7 += x * LOAD(q3 + 8);
  }
  STORE(c, s0), STORE(c + 8, s1), STORE(c + 16, s2), STORE(c + 24, s3);
  STORE(c + 32, s4), STORE(c + 40, s5), STORE(c + 48, s6), STORE(c + 56, s7);
}

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

/* The inner dimension is cut into blocks; a later block starts from the sums of the earlier, so the order stays. */
ISA static void NAME(gemm)(int m, int n, int k, const float *a, ptrdiff_t a_row, ptrdiff_t a_inner, const float *b,
                           ptrdiff_t panel_stride, ptrdiff_t ldb, float *c, ptrdiff_t ldc, int accumulate) {
  for (int start = 0; start < k; start += INNER_BLOCK) {
    const int inner = k - start < INNER_BLOCK ? k - start : INNER_BLOCK;
    const int more = accumulate || start > 0;
    const float *a_block = a + start * a_inner, *b_block = b + start * ldb;
    int column = 0;
    if (m == 1)
      for (; column + 64 <= n; column += 64)
        NAME(tile_wide)(inner, a_block, a_inner, b_block + column / PANEL * panel_stride, panel_stride, ldb, c + column,
                        more);
    for (; column < n; column += PANEL)
      for (int row = 0; row < m; row += 6)
        NAME(tile)(m - row < 6 ? m - row : 6, inner, a_block + row * a_row, a_row, a_inner,
                   b_block + column / PANEL * panel_stride, ldb, c + row * ldc + column, ldc, more);
  }
}

/* ---- Element-wise ---- */

INLINE float NAME(sum8)(v8 x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

INLINE v8 NAME(broadcast)(float x) {
  return (v8){x, x, x, x, x, x, x, x};
}

INLINE v8 NAME(choose)(v8i mask, v8 yes, v8 no) {
  return (v8)((mask & (v8i)yes) | (~mask & (v8i)no));
}

/* exp by a degree-5 polynomial on [-ln2/2, ln2/2] and an integer exponent; not-a-number passes through. */
INLINE v8 NAME(exp8)(v8 x) {
  const v8 low = NAME(broadcast)(-87.0f), high = NAME(broadcast)(88.0f);
  x = NAME(choose)(x < low, low, x);
  x = NAME(choose)(x > high, high, x);
  const v8 scaled = x * 1.44269504088896341f;
  const v8i half = (v8i)NAME(broadcast)(0.5f);
  const v8 nudge = (v8)(((v8i)scaled & (int)0x80000000) | half);
  const v8i exponent = __builtin_convertvector(scaled + nudge, v8i);
  const v8 whole = __builtin_convertvector(exponent, v8);
  v8 r = x - whole * 0.693359375f;
  r = r + whole * 2.12194440e-4f;
  v8 p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const v8 value = (p * r) * r + r + 1.0f;
  return value * (v8)((exponent + 127) << 23);
}

ISA static void NAME(norm)(int rows, int width, const float *x, ptrdiff_t ldx, const float *gain, float *y,
                           ptrdiff_t ldy, float *scales) {
  for (int row = 0; row < rows; row++, x += ldx, y += ldy) {
    v8 s0 = {0}, s1 = {0};
    for (int i = 0; i < width; i += 16) {
      const v8 x0 = LOAD(x + i), x1 = LOAD(x + i + 8);
      s0 += x0 * x0;
      s1 += x1 * x1;
    }
    const float scale = 1.0f / sqrtf(NAME(sum8)(s0 + s1) / (float)width + 1e-6f);
    for (int i = 0; i < width; i += 8) STORE(y + i, LOAD(x + i) * scale * LOAD(gain + i));
    scales[row] = scale;
  }
}

ISA static void NAME(norm_back)(int rows, int width, const float *x, ptrdiff_t ldx, const float *scales,
                                const float *gain, const float *dy, ptrdiff_t lddy, float *dx, ptrdiff_t lddx,
                                float *dgain) {
  for (int row = 0; row < rows; row++, x += ldx, dy += lddy, dx += lddx) {
    const float scale = scales[row];
    v8 dot = {0};
    for (int i = 0; i < width; i += 8) {
      const v8 normed = LOAD(x + i) * scale, d = LOAD(dy + i);
      dot += normed * (d * LOAD(gain + i));
      STORE(dgain + i, LOAD(dgain + i) + normed * d);
    }
    const float mean = NAME(sum8)(dot) / (float)width;
    for (int i = 0; i < width; i += 8) {
      const v8 through = LOAD(dy + i) * LOAD(gain + i) - LOAD(x + i) * scale * mean;
      STORE(dx + i, LOAD(dx + i) + through * scale);
    }
  }
}

INLINE v8 NAME(sigmoid)(v8 x) {
  return 1.0f / (1.0f + NAME(exp8)(x * -1.702f));
}

ISA static void NAME(gelu)(int rows, int width, const float *x, float *y, ptrdiff_t ld) {
  for (int row = 0; row < rows; row++, x += ld, y += ld)
    for (int i = 0; i < width; i += 8) STORE(y + i, LOAD(x + i) * NAME(sigmoid)(LOAD(x + i)));
}

ISA static void NAME(gelu_back)(int rows, int width, const float *x, float *dy, ptrdiff_t ld) {
  for (int row = 0; row < rows; row++, x += ld, dy += ld)
    for (int i = 0; i < width; i += 8) {
      const v8 value = LOAD(x + i), s = NAME(sigmoid)(value);
      STORE(dy + i, LOAD(dy + i) * (s + value * 1.702f * s * (1.0f - s)));
    }
}

/* Dimension i turns with dimension i + 16 of its head. */
ISA static void NAME(rotate)(float *qkv, int width, const float *cosines, const float *sines, int direction) {
  const float query_scale = 0.17677669529663687f;
  for (int at = 0; at < 2 * width; at += HEAD)
    for (int i = 0; i < HEAD / 2; i += 8) {
      float *first = qkv + at + i, *second = first + HEAD / 2;
      const float scale = at < width ? query_scale : 1.0f;
      const v8 c = LOAD(cosines + i) * scale, s = LOAD(sines + i) * (scale * (float)direction);
      const v8 x = LOAD(first), y = LOAD(second);
      STORE(first, x * c - y * s);
      STORE(second, x * s + y * c);
    }
}

ISA static float NAME(distribution)(int width, const float *z, float scale, float *e, float *max, float *dot) {
  v8 highest = LOAD(z) * scale;
  for (int i = 8; i < width; i += 8) {
    const v8 x = LOAD(z + i) * scale;
    highest = NAME(choose)(x > highest, x, highest);
  }
  float top = highest[0];
  for (int i = 1; i < 8; i++) top = highest[i] > top ? highest[i] : top;
  v8 sum = {0}, dots = {0};
  for (int i = 0; i < width; i += 8) {
    const v8 shifted = LOAD(z + i) * scale - top;
    const v8 value = NAME(exp8)(shifted);
    sum += value;
    dots += value * shifted;
    STORE(e + i, value);
  }
  *max = top;
  *dot = NAME(sum8)(dots);
  return NAME(sum8)(sum);
}

ISA static void NAME(add)(size_t count, float *a, const float *b) {
  size_t i = 0;
  for (; i + 8 <= count; i += 8) STORE(a + i, LOAD(a + i) + LOAD(b + i));
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
