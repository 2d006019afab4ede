"""How good is the text: olmOCR-Bench over a folder of Markdown or a workspace, and measures that need no labels.

The rules are those of the evaluator that olmOCR 0.4.27 releases, so that scores can be compared with published ones;
docs/bench.md says where they differ.
"""
