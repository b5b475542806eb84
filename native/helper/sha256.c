/* SHA-256 (FIPS 180-4), for the diff of a sandbox: what a file holds is told without giving the file out. */
#include "files.h"
#include <string.h>

static const uint32_t ROUND[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01,
    0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc,
    0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08,
    0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, int bits) { return word >> bits | word << (32 - bits); }

static void mix(struct sha256 *hash, const uint8_t *block) {
  uint32_t words[64], at[8];
  for (int index = 0; index < 16; index++)
    words[index] = (uint32_t)block[index * 4] << 24 | (uint32_t)block[index * 4 + 1] << 16 |
                   (uint32_t)block[index * 4 + 2] << 8 | block[index * 4 + 3];
  for (int index = 16; index < 64; index++) {
    uint32_t near = words[index - 15], far = words[index - 2];
    words[index] = words[index - 16] + (turn(near, 7) ^ turn(near, 18) ^ near >> 3) + words[index - 7] +
                   (turn(far, 17) ^ turn(far, 19) ^ far >> 10);
  }
  memcpy(at, hash->state, sizeof at);
  for (int index = 0; index < 64; index++) {
    uint32_t first = at[7] + (turn(at[4], 6) ^ turn(at[4], 11) ^ turn(at[4], 25)) + ((at[4] & at[5]) ^ (~at[4] & at[6])) +
                     ROUND[index] + words[index];
    uint32_t second =
        (turn(at[0], 2) ^ turn(at[0], 13) ^ turn(at[0], 22)) + ((at[0] & at[1]) ^ (at[0] & at[2]) ^ (at[1] & at[2]));
    memmove(at + 1, at, 7 * sizeof *at);
    at[4] += first;
    at[0] = first + second;
  }
  for (int index = 0; index < 8; index++) hash->state[index] += at[index];
}

void sha256_begin(struct sha256 *hash) {
  *hash = (struct sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab,
                                    0x5be0cd19}};
}

void sha256_add(struct sha256 *hash, const void *bytes, size_t length) {
  const uint8_t *from = bytes;
  size_t held = hash->bytes % 64;
  hash->bytes += length;
  while (length > 0) {
    if (held == 0 && length >= 64) {
      mix(hash, from);
      from += 64;
      length -= 64;
      continue;
    }
    size_t part = 64 - held < length ? 64 - held : length;
    memcpy(hash->block + held, from, part);
    held = (held + part) % 64;
    from += part;
    length -= part;
    if (held == 0) mix(hash, hash->block);
  }
}

void sha256_end(struct sha256 *hash, uint8_t digest[32]) {
  static const uint8_t padding[64] = {0x80};
  uint8_t size[8];
  uint64_t bits = hash->bytes * 8;
  for (int index = 0; index < 8; index++) size[index] = (uint8_t)(bits >> (56 - 8 * index));
  sha256_add(hash, padding, 1 + (119 - hash->bytes % 64) % 64);
  sha256_add(hash, size, 8);
  for (int index = 0; index < 32; index++) digest[index] = (uint8_t)(hash->state[index / 4] >> (24 - 8 * (index % 4)));
}
