#include "resize.h"

#include <string.h>

// Four numbers, of which the first three are a pixel's.
typedef float pixel __attribute__((vector_size(16)));
typedef int32_t pixel_int __attribute__((vector_size(16)));

// mix makes n numbers of those in count rows.
static void mix(float *restrict line, const uint8_t *restrict src, long stride, int n, const float *weights, int count) {
    const uint8_t *restrict next = src + (count > 1 ? stride : 0);
    const float first = weights[0], second = count > 1 ? weights[1] : 0;
    for (int i = 0; i < n; i++) {
        line[i] = first * src[i] + second * next[i];
    }
    for (int k = 2; k < count; k++) {
        const float w = weights[k];
        const uint8_t *restrict row = src + k * stride;
        for (int i = 0; w != 0 && i < n; i++) {
            line[i] += w * row[i];
        }
    }
}

void segd_resize(uint8_t *dst, const uint8_t *src, long stride, int width,
                 int x_size, int x_count, const int32_t *x_first, const float *x_weights,
                 int y_size, int y_count, const int32_t *y_first, const float *y_weights, float *line) {
    line[3 * width] = 0;
    for (int y = 0; y < y_size; y++) {
        mix(line, src + y_first[y] * stride, stride, 3 * width, y_weights + (long)y * y_count, y_count);
        const float *w = x_weights;
        for (int x = 0; x < x_size; x++, dst += 3) {
            const float *at = line + 3 * x_first[x];
            pixel sum = {0.5f, 0.5f, 0.5f, 0};
            for (int k = 0; k < x_count; k++, at += 3) {
                pixel p;
                memcpy(&p, at, sizeof p);
                sum += *w++ * p;
            }
            const pixel_int v = __builtin_convertvector(sum, pixel_int);
            dst[0] = v[0], dst[1] = v[1], dst[2] = v[2];
        }
    }
}
