"""What array does a document describe? v2 and v3 end here, in one model."""
