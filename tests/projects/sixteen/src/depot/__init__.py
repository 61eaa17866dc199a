"""A parcel depot: sorting, picking, labels and the paperwork."""
