"""The marginal model on one block of signals, in the order in which it is best read.

``protocols`` (what a likelihood of patterns is), ``likelihood`` (the Gaussian one), ``patterns``
and ``time_hierarchy`` (which atoms are active together), ``dictionary`` (what is learned),
``chain`` and ``e_step`` (the posterior of the patterns), ``m_step``, ``penalty`` and ``support``
(the atoms).
"""
