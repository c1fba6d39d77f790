#ifndef SEGD_RESIZE_H
#define SEGD_RESIZE_H

#include <stdint.h>

// segd_resize writes an image of x_size*y_size pixels to dst, made of one whose rows of three bytes a pixel are stride bytes apart.
// Of each axis, first and weights tell what a place is made of: of x_count pixels, or y_count, from first on. line has
// room for a row of the source, which is width pixels wide, and one number more.
void segd_resize(uint8_t *dst, const uint8_t *src, long stride, int width,
                 int x_size, int x_count, const int32_t *x_first, const float *x_weights,
                 int y_size, int y_count, const int32_t *y_first, const float *y_weights, float *line);

#endif
