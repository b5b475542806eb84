/*
 * Causal attention, part of kernel.h. Queries go in blocks of QUERY_BLOCK rows; the masked half is skipped by tiles,
 * and a probability right of the diagonal is exactly 0, so it adds nothing. Backward recomputes the probabilities.
 * `room` is: transposed keys, transposed values, two blocks of QUERY_BLOCK score rows.
 */

typedef struct {
  int n;
  ptrdiff_t ld; /* of each part of the room */
  float *keys, *values, *scores, *d_scores;
} NAME(Room);

INLINE NAME(Room) NAME(open_room)(int n, float *room) {
  const ptrdiff_t ld = padded((n + PANEL - 1) / PANEL * PANEL);
  return (NAME(Room)){n, ld, room, room + HEAD * ld, room + 2 * HEAD * ld, room + (2 * HEAD + QUERY_BLOCK) * ld};
}

INLINE int NAME(up16)(int n) {
  return (n + 15) / 16 * 16;
}

/* target[i][row] = source[row][i]; columns up to the next multiple of 16 are cleared. */
ISA static void NAME(transpose)(int n, const float *source, ptrdiff_t ld, float *target, ptrdiff_t ldt) {
  for (int row = 0; row < n; row++)
    for (int i = 0; i < HEAD; i++) target[i * ldt + row] = source[row * ld + i];
  for (int i = 0; i < HEAD; i++)
    for (int row = n; row < NAME(up16)(n); row++) target[i * ldt + row] = 0;
}

/* Scores of a row become probabilities over its first `length` keys; the rest up to `width` becomes 0. */
ISA static void NAME(softmax)(float *scores, int length, int width) {
  const int whole = (length + 7) / 8 * 8;
  for (int i = length; i < whole; i++) scores[i] = -1e30f;
  vec highest = LOAD(scores);
  for (int i = LANES; i < whole; i += LANES) highest = NAME(choose)(LOAD(scores + i) > highest, LOAD(scores + i), highest);
  float top = highest[0];
  for (int i = 1; i < LANES; i++) top = highest[i] > top ? highest[i] : top;
  vec sum = {0};
  for (int i = 0; i < whole; i += LANES) {
    vec value = NAME(exponential)(LOAD(scores + i) - top);
    if (i + LANES > length)
      for (int lane = 0; lane < LANES; lane++) value[lane] = i + lane < length ? value[lane] : 0.0f;
    sum += value;
    STORE(scores + i, value);
  }
  const float inverse = 1.0f / NAME(sum_lanes)(sum);
  for (int i = 0; i < whole; i += LANES) STORE(scores + i, LOAD(scores + i) * inverse);
  for (int i = whole; i < width; i++) scores[i] = 0;
}

/* out[block rows][keys] = rows * columns, for the keys each group of six rows can see. */
ISA static void NAME(block_scores)(const NAME(Room) *room, int start, int count, const float *rows, ptrdiff_t ld,
                                   const float *columns, float *out) {
  for (int row = 0; row < count; row += 6) {
    const int height = count - row < 6 ? count - row : 6;
    const int width = NAME(up16)(start + row + height);
    NAME(gemm)(height, width, HEAD, rows + (start + row) * ld, ld, 1, columns, PANEL, room->ld, out + row * room->ld,
               room->ld, 0);
  }
}

ISA static void NAME(block_softmax)(const NAME(Room) *room, int start, int count) {
  for (int row = 0; row < count; row++) {
    const int group_end = row / 6 * 6 + 6 < count ? row / 6 * 6 + 6 : count;
    NAME(softmax)(room->scores + row * room->ld, start + row + 1, NAME(up16)(start + group_end));
  }
}

/* out rows = weights rows * values rows, 32 columns, over the keys each group of six rows can see. */
ISA static void NAME(block_weighted)(const NAME(Room) *room, int start, int count, const float *weights,
                                     const float *values, ptrdiff_t ld, float *out, ptrdiff_t ldo) {
  for (int row = 0; row < count; row += 6) {
    const int height = count - row < 6 ? count - row : 6;
    NAME(gemm)(height, HEAD, start + row + height, weights + row * room->ld, room->ld, 1, values, PANEL, ld,
               out + (start + row) * ldo, ldo, 0);
  }
}

/* out[key] += sum over block rows of weights[row][key] * rows[row]; rows before a key give it nothing. */
ISA static void NAME(block_scatter)(const NAME(Room) *room, int start, int count, const float *weights,
                                    const float *rows, ptrdiff_t ld, float *out, ptrdiff_t ldo) {
  const int end = start + count;
  for (int key = 0; key < end; key += 6) {
    const int height = end - key < 6 ? end - key : 6;
    /* Score rows are written up to the end of their group of six, so start at a group boundary. */
    const int first = key > start ? (key - start) / 6 * 6 : 0;
    NAME(gemm)(height, HEAD, count - first, weights + first * room->ld + key, 1, room->ld, rows + (start + first) * ld,
               PANEL, ld, out + key * ldo, ldo, 1);
  }
}

ISA static void NAME(attend)(int n, int heads, const float *qkv, ptrdiff_t ld, float *out, ptrdiff_t ldo, float *room) {
  const NAME(Room) r = NAME(open_room)(n, room);
  const int width = heads * HEAD;
  for (int head = 0; head < heads; head++) {
    const float *query = qkv + head * HEAD, *key = query + width, *value = key + width;
    NAME(transpose)(n, key, ld, r.keys, r.ld);
    for (int start = 0; start < n; start += QUERY_BLOCK) {
      const int count = n - start < QUERY_BLOCK ? n - start : QUERY_BLOCK;
      NAME(block_scores)(&r, start, count, query, ld, r.keys, r.scores);
      NAME(block_softmax)(&r, start, count);
      NAME(block_weighted)(&r, start, count, r.scores, value, ld, out + head * HEAD, ldo);
    }
  }
}

/* d_scores = probabilities * (d_scores - dot(out, d_out)), the gradient through the softmax. */
ISA static void NAME(block_softmax_back)(const NAME(Room) *room, int start, int count, const float *out,
                                         const float *d_out, ptrdiff_t ldo) {
  for (int row = 0; row < count; row++) {
    const float *o = out + (start + row) * ldo, *d = d_out + (start + row) * ldo;
    vec dots = {0};
    for (int i = 0; i < HEAD; i += LANES) dots += LOAD(o + i) * LOAD(d + i);
    const float dot = NAME(sum_lanes)(dots);
    const int group_end = row / 6 * 6 + 6 < count ? row / 6 * 6 + 6 : count;
    const float *p = room->scores + row * room->ld;
    float *ds = room->d_scores + row * room->ld;
    for (int i = 0; i < NAME(up16)(start + group_end); i += LANES) STORE(ds + i, LOAD(p + i) * (LOAD(ds + i) - dot));
  }
}

ISA static void NAME(attend_back)(int n, int heads, const float *qkv, ptrdiff_t ld, const float *out,
                                  const float *dout, ptrdiff_t ldo, float *dqkv, float *room) {
  const NAME(Room) r = NAME(open_room)(n, room);
  const int width = heads * HEAD;
  for (int row = 0; row < n; row++) memset(dqkv + row * ld, 0, (size_t)(3 * width) * sizeof(float));
  for (int head = 0; head < heads; head++) {
    const float *query = qkv + head * HEAD, *key = query + width, *value = key + width;
    const float *o = out + head * HEAD, *d = dout + head * HEAD;
    float *d_query = dqkv + head * HEAD, *d_key = d_query + width, *d_value = d_key + width;
    NAME(transpose)(n, key, ld, r.keys, r.ld);
    NAME(transpose)(n, value, ld, r.values, r.ld);
    for (int start = 0; start < n; start += QUERY_BLOCK) {
      const int count = n - start < QUERY_BLOCK ? n - start : QUERY_BLOCK;
      NAME(block_scores)(&r, start, count, query, ld, r.keys, r.scores);
      NAME(block_softmax)(&r, start, count);
      NAME(block_scores)(&r, start, count, d, ldo, r.values, r.d_scores);
      NAME(block_scatter)(&r, start, count, r.scores, d, ldo, d_value, ld);
      NAME(block_softmax_back)(&r, start, count, o, d, ldo);
      NAME(block_scatter)(&r, start, count, r.d_scores, query, ld, d_key, ld);
      NAME(block_weighted)(&r, start, count, r.d_scores, key, ld, d_query, ld);
    }
  }
}

#define HEAD_CLEAR(v) vec s##v = {0}, t##v = {0};
#define HEAD_STEP(v) s##v += p * LOAD(values + v * LANES), t##v += q * LOAD(values + stride + v * LANES);
#define HEAD_WRITE(v) STORE(out + v * LANES, s##v), STORE(out + HEAD + v * LANES, t##v);
#if LANES == 8
#define HEAD_VECTORS VECTORS4
#else
#define HEAD_VECTORS VECTORS8
#endif

/* Weighted values of two heads at once: one alone would wait for each of its additions. */
ISA static void NAME(weigh_two)(int length, const float *weights, ptrdiff_t ldw, const float *values, ptrdiff_t stride,
                                float *out) {
  HEAD_VECTORS(HEAD_CLEAR)
  for (int i = 0; i < length; i++, values += HEAD) {
    const float p = weights[i], q = weights[ldw + i];
    HEAD_VECTORS(HEAD_STEP)
  }
  HEAD_VECTORS(HEAD_WRITE)
}

ISA static void NAME(attend_cached)(int length, int heads, const float *query, const float *keys, const float *values,
                                    ptrdiff_t stride, ptrdiff_t ldk, float *out, float *room) {
  const int width = NAME(up16)(length);
  for (int head = 0; head < heads; head++) {
    float *scores = room + head * ldk;
    NAME(gemm)(1, width, HEAD, query + head * HEAD, 0, 1, keys + head * stride, PANEL, ldk, scores, width, 0);
    NAME(softmax)(scores, length, width);
  }
  int head = 0;
  for (; head + 2 <= heads; head += 2)
    NAME(weigh_two)(length, room + head * ldk, ldk, values + head * stride, stride, out + head * HEAD);
  if (head < heads)
    NAME(gemm)(1, HEAD, length, room + head * ldk, 0, 1, values + head * stride, PANEL, HEAD, out + head * HEAD, HEAD, 0);
}
