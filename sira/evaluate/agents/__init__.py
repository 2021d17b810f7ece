"""Evaluation of agent runs: what an agent saw, opened and cited, whether its answers are right, and what they cost.

Everything is computed anew from the files of a run (one trajectory a question, sira's or Pi-Serini's), qrels, and
the judgments that `sira judge` left beside them. Terms and published definitions: Pi-Serini and BrowseComp-Plus
(arXiv 2508.06600); Humanity's Last Exam for its calibration error (arXiv 2501.14249).
"""
