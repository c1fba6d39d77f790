// Follows an object by OpenCV alone and times itself. A program of its own, built by
// `make peers` and talked to through pipes.
//
//   masks METHOD     dis, csrt_grabcut or grabcut; lab/cmd/peers/README.md compares them
//
// stdin has frames, each a line and bytes: "first WIDTH HEIGHT", BGR24 and the object's
// mask, a byte a pixel, not 0 on the object; or "next WIDTH HEIGHT" and BGR24 of the
// same size. Each is answered by a line, the seconds taken, and its mask, 0 or 1.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <memory>

#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/tracking.hpp>
#include <opencv2/video/tracking.hpp>

using cv::Mat;

// Masks are 0 and 255 within.
struct Method {
	virtual ~Method() = default;
	virtual void first(const Mat &bgr, const Mat &mask) = 0;
	virtual Mat next(const Mat &bgr) = 0;
};

// Flow moves a mask from frame to frame.
class Flow {
	cv::Ptr<cv::DISOpticalFlow> dis = cv::DISOpticalFlow::create(cv::DISOpticalFlow::PRESET_MEDIUM);
	Mat before, now, flow, moved;

public:
	void first(const Mat &bgr) { cv::cvtColor(bgr, before, cv::COLOR_BGR2GRAY); }

	// The result is valid until the next call.
	const Mat &move(const Mat &bgr, const Mat &mask) {
		cv::cvtColor(bgr, now, cv::COLOR_BGR2GRAY);
		dis->calc(now, before, flow);
		for (int y = 0; y < flow.rows; y++) { // to where each pixel was
			cv::Point2f *row = flow.ptr<cv::Point2f>(y);
			for (int x = 0; x < flow.cols; x++)
				row[x] += cv::Point2f(x, y);
		}
		cv::remap(mask, moved, flow, cv::noArray(), cv::INTER_LINEAR);
		cv::swap(before, now);
		return moved;
	}
};

// Rounded to 0 and 255 in every frame it would be no better.
class DIS : public Method {
	Flow flow;
	Mat mask; // 0…255

public:
	void first(const Mat &bgr, const Mat &given) override {
		flow.first(bgr);
		mask = given.clone();
	}
	Mat next(const Mat &bgr) override {
		flow.move(bgr, mask).copyTo(mask);
		return mask >= 128;
	}
};

// cut runs GrabCut where labels leave something open and half of that's longer side
// around it, and returns the object. Without two sides there is nothing to cut.
static Mat cut(const Mat &bgr, Mat &labels, int iterations) {
	cv::Rect r = cv::boundingRect(labels != cv::GC_BGD);
	if (r.empty())
		return Mat::zeros(bgr.size(), CV_8U);
	const int margin = std::max(r.width, r.height) / 2;
	r = cv::Rect(r.x - margin, r.y - margin, r.width + 2 * margin, r.height + 2 * margin) & cv::Rect(cv::Point(), bgr.size());
	Mat part = labels(r), background, object;
	if (const int n = cv::countNonZero(part & 1); n > 0 && n < int(part.total()))
		cv::grabCut(bgr(r), part, cv::Rect(), background, object, iterations, cv::GC_INIT_WITH_MASK);
	return (labels & 1) != 0;
}

class CSRT : public Method {
	cv::Ptr<cv::TrackerCSRT> tracker;

public:
	void first(const Mat &bgr, const Mat &given) override {
		tracker = cv::TrackerCSRT::create();
		tracker->init(bgr, cv::boundingRect(given));
	}
	Mat next(const Mat &bgr) override {
		Mat labels(bgr.size(), CV_8U, cv::Scalar(cv::GC_BGD));
		if (cv::Rect box; tracker->update(bgr, box))
			labels(box & cv::Rect(cv::Point(), bgr.size())) = cv::GC_PR_FGD;
		return cut(bgr, labels, 5);
	}
};

class GrabCut : public Method {
	Flow flow;
	Mat mask;

public:
	void first(const Mat &bgr, const Mat &given) override {
		flow.first(bgr);
		mask = given.clone();
	}
	Mat next(const Mat &bgr) override {
		const Mat moved = flow.move(bgr, mask) >= 128;
		// Open is a tenth of the object's size, the root of its pixels, on either side.
		const int open = std::max(1, int(0.1 * std::sqrt(cv::countNonZero(moved))));
		const Mat disk = cv::getStructuringElement(cv::MORPH_ELLIPSE, cv::Size(2 * open + 1, 2 * open + 1));
		Mat sure, possible, labels(bgr.size(), CV_8U, cv::Scalar(cv::GC_BGD));
		cv::erode(moved, sure, disk);
		cv::dilate(moved, possible, disk);
		labels.setTo(cv::GC_PR_BGD, possible);
		labels.setTo(cv::GC_PR_FGD, moved);
		labels.setTo(cv::GC_FGD, sure);
		mask = cut(bgr, labels, 1); // five are as good
		return mask;
	}
};

static std::unique_ptr<Method> method(const char *name) {
	if (!strcmp(name, "dis"))
		return std::make_unique<DIS>();
	if (!strcmp(name, "csrt_grabcut"))
		return std::make_unique<CSRT>();
	if (!strcmp(name, "grabcut"))
		return std::make_unique<GrabCut>();
	return nullptr;
}

static bool get(Mat &m) { return fread(m.data, m.elemSize(), m.total(), stdin) == m.total(); }

int main(int argc, char **argv) {
	const auto m = argc == 2 ? method(argv[1]) : nullptr;
	if (!m) {
		fprintf(stderr, "masks: want one argument, dis, csrt_grabcut or grabcut\n");
		return 1;
	}
	cv::ocl::setUseOpenCL(false); // the processor alone, as everybody here

	char what[16];
	int width, height;
	Mat bgr, mask;
	while (scanf("%15s %d %d", what, &width, &height) == 3 && getchar() == '\n' && width > 0 && height > 0) {
		const bool first = !strcmp(what, "first");
		bgr.create(height, width, CV_8UC3);
		mask.create(height, width, CV_8U);
		if (!get(bgr) || (first && !get(mask))) {
			fprintf(stderr, "masks: the input ends within a frame\n");
			return 1;
		}
		mask = mask != 0;
		cv::setRNGSeed(1); // GrabCut draws; the same whatever was before
		const auto begin = std::chrono::steady_clock::now();
		if (first)
			m->first(bgr, mask);
		else
			mask = m->next(bgr);
		const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
		const Mat bits = mask & 1; // a copy: mask may be the method's
		printf("%.9f\n", seconds.count());
		fwrite(bits.data, 1, bits.total(), stdout);
		fflush(stdout);
	}
	if (!feof(stdin)) {
		fprintf(stderr, "masks: want \"first WIDTH HEIGHT\" or \"next WIDTH HEIGHT\" and a frame\n");
		return 1;
	}
}
