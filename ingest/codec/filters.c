//go:build !ffmpeg7

#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>

#include "late.h"

/*
 * In place of libavfilter's, which deinterlacing alone needs, and which links some 25 libraries of speech, sound and subtitles: 4 MiB, and
 * a quarter of the time to start. The linker leaves it out (--as-needed), and it is loaded with the first graph of filters. Without it
 * there is no graph, and so nothing else is called.
 */
#define CALL(function) ((__typeof__(&function))segd_late(SEGD_LIBRARY("libavfilter", LIBAVFILTER_VERSION_MAJOR), #function))

AVFilterGraph *avfilter_graph_alloc(void)
{
	__typeof__(&avfilter_graph_alloc) f = CALL(avfilter_graph_alloc);
	return f ? f() : 0;
}

const AVFilter *avfilter_get_by_name(const char *name) { return CALL(avfilter_get_by_name)(name); }

void avfilter_free(AVFilterContext *filter) { CALL(avfilter_free)(filter); }

int avfilter_graph_create_filter(AVFilterContext **context, const AVFilter *filter, const char *name, const char *arguments, void *opaque, AVFilterGraph *graph)
{
	return CALL(avfilter_graph_create_filter)(context, filter, name, arguments, opaque, graph);
}

int avfilter_graph_parse_ptr(AVFilterGraph *graph, const char *filters, AVFilterInOut **inputs, AVFilterInOut **outputs, void *log)
{
	return CALL(avfilter_graph_parse_ptr)(graph, filters, inputs, outputs, log);
}

int avfilter_graph_config(AVFilterGraph *graph, void *log) { return CALL(avfilter_graph_config)(graph, log); }

int avfilter_graph_send_command(AVFilterGraph *graph, const char *target, const char *command, const char *argument, char *result, int length, int flags)
{
	return CALL(avfilter_graph_send_command)(graph, target, command, argument, result, length, flags);
}

char *avfilter_graph_dump(AVFilterGraph *graph, const char *options) { return CALL(avfilter_graph_dump)(graph, options); }

void avfilter_graph_free(AVFilterGraph **graph) { CALL(avfilter_graph_free)(graph); }

AVFilterInOut *avfilter_inout_alloc(void) { return CALL(avfilter_inout_alloc)(); }

void avfilter_inout_free(AVFilterInOut **ends) { CALL(avfilter_inout_free)(ends); }

int av_buffersrc_add_frame_flags(AVFilterContext *source, AVFrame *frame, int flags)
{
	return CALL(av_buffersrc_add_frame_flags)(source, frame, flags);
}

int av_buffersink_get_frame_flags(AVFilterContext *sink, AVFrame *frame, int flags)
{
	return CALL(av_buffersink_get_frame_flags)(sink, frame, flags);
}
