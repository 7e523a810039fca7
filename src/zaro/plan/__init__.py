"""Which chunks does a selection touch, and in which requests are they read?"""
