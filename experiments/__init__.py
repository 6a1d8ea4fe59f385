"""The paper, reproduced and surpassed: every table and figure of experiments/RESULTS.md, from data
to page.
"""
