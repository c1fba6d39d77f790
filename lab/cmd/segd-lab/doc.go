// Command segd-lab is segd's laboratory: experiments that give figures on data sets, of segd and of the
// methods that it is compared with. segd eval runs it with the same arguments, and what it says names that.
//
//	segd eval davis      masks on DAVIS-2016 sequences
//	segd eval ablation   what each part of the model is worth
//	segd eval scribbles  masks from strokes on single pictures
//	segd eval mot        persons in a video, on MOTChallenge's boxes
//	segd eval soak       memory over a long run
//	segd eval moons      labels of four moons
//	segd eval ssl        the semi-supervised learning benchmark
package main
