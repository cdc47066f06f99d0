"""Named SQL in <noun>.sql, and the two databases behind one seam. It finds and writes; rules are in `engine`."""
