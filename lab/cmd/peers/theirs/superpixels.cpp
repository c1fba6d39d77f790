// Cuts pictures into superpixels by SLIC and times itself, on one thread. A program of its own,
// built by `make peers` and talked to through pipes.
//
// stdin has pictures, each a line, "SUPERPIXELS WIDTH HEIGHT", and BGR24. Each is answered by a
// line, the seconds taken and how many superpixels there are, and a label for each pixel, an int
// of this machine's below that.
#include <chrono>
#include <cmath>
#include <cstdio>

#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>
#include <opencv2/imgproc.hpp>
#include <opencv2/ximgproc/slic.hpp>

int main() {
	cv::ocl::setUseOpenCL(false);
	cv::setNumThreads(1);
	int superpixels, width, height;
	cv::Mat bgr, lab, labels;
	while (scanf("%d %d %d", &superpixels, &width, &height) == 3 && getchar() == '\n' && superpixels > 0 && width > 0 && height > 0) {
		bgr.create(height, width, CV_8UC3);
		if (fread(bgr.data, bgr.elemSize(), bgr.total(), stdin) != bgr.total()) {
			fprintf(stderr, "superpixels: the input ends within a picture\n");
			return 1;
		}
		// Rounded down: as many as are wanted or more.
		const int side = std::max(1, int(std::sqrt(double(width) * height / superpixels)));
		const auto begin = std::chrono::steady_clock::now();
		cv::cvtColor(bgr, lab, cv::COLOR_BGR2Lab);
		const auto slic = cv::ximgproc::createSuperpixelSLIC(lab, cv::ximgproc::SLIC, side, 10);
		slic->iterate(10);
		slic->getLabels(labels);
		const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
		printf("%.9f %d\n", seconds.count(), slic->getNumberOfSuperpixels());
		fwrite(labels.data, labels.elemSize(), labels.total(), stdout);
		fflush(stdout);
	}
	if (!feof(stdin)) {
		fprintf(stderr, "superpixels: want \"SUPERPIXELS WIDTH HEIGHT\" and a picture\n");
		return 1;
	}
}
