"""What array does a document describe? v2 and v3 end here, in one model."""

from zaro.metadata.keys import KeyEncoding
from zaro.metadata.model import ArrayMetadata, Codec, GroupMetadata, NodeMetadata
from zaro.metadata.nodes import DOCUMENT_NAMES, consolidated_v2, read_node
from zaro.metadata.v3 import codec_list

__all__ = [
    "DOCUMENT_NAMES",
    "ArrayMetadata",
    "Codec",
    "GroupMetadata",
    "KeyEncoding",
    "NodeMetadata",
    "codec_list",
    "consolidated_v2",
    "read_node",
]
