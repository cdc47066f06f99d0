"""Questions to a person."""

import msgspec

from turnbuckle.wire.review import (
    ReviewAnswer,
    ReviewAnswerBatchRequest,
    ReviewAnswerBatchResponse,
    ReviewAnswerRequest,
    ReviewCommentRequest,
    ReviewCreateRequest,
    ReviewItem,
    ReviewPatternsResponse,
    ReviewsResponse,
    ReviewWithdrawRequest,
)

REVIEW_MODELS: tuple[type[msgspec.Struct], ...] = (
    ReviewAnswer,
    ReviewAnswerBatchRequest,
    ReviewAnswerBatchResponse,
    ReviewAnswerRequest,
    ReviewCommentRequest,
    ReviewCreateRequest,
    ReviewItem,
    ReviewPatternsResponse,
    ReviewsResponse,
    ReviewWithdrawRequest,
)
