"""The two published algorithms (La Malfa et al. 2021), by the names of the paper."""
