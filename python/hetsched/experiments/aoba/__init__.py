"""AOBA's digital twin (Ohmura et al.): accuracy of starts, settings that save energy, nodes lent between queues."""
