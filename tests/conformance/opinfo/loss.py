"""Losses."""
import torch

from opinfo import Differs, offer

REDUCTIONS = {"mean": "ISO_REDUCTION_MEAN", "sum": "ISO_REDUCTION_SUM", "none": "ISO_REDUCTION_NONE"}


def options(reduction="mean", weight=None, size_average=None, reduce=None):
    if size_average is not None or reduce is not None:
        reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
    return {"reduction": REDUCTIONS[reduction], "weight": weight}


def class_options(weight, ignore_index, reduction, label_smoothing=0.0):
    return dict(weights=weight, reduction=REDUCTIONS[reduction], label_smoothing=label_smoothing, ignores=True, ignore_index=ignore_index)


@offer("nn.functional.cross_entropy")
def cross_entropy(iso, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    return iso.cross_entropy(input, target, class_options(weight, ignore_index, reduction, label_smoothing))


@offer("nn.functional.nll_loss")
def nll_loss(iso, input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    return iso.nll_loss(input, target, class_options(weight, ignore_index, reduction))


@offer("nn.functional.binary_cross_entropy")
def binary_cross_entropy(iso, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    return iso.binary_cross_entropy(input, target, options(reduction, weight))


@offer("nn.functional.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(iso, input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    return iso.binary_cross_entropy_with_logits(input, target, pos_weight, options(reduction, weight))


@offer("nn.functional.kl_div")
def kl_div(iso, input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    if reduction == "batchmean":
        return iso.kl_div(input, target, log_target, {"count": input.shape[0] if input.ndim else 1})
    return iso.kl_div(input, target, log_target, options(reduction))


def same_shapes(iso, input, target):
    if input.shape != target.shape:
        raise Differs("Shapes have to be equal: PyTorch broadcasts and warns.")


@offer("nn.functional.mse_loss")
def mse_loss(iso, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    same_shapes(iso, input, target)
    return iso.mse_loss(input, target, options(reduction, weight, size_average, reduce))


@offer("nn.functional.l1_loss")
def l1_loss(iso, input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    same_shapes(iso, input, target)
    return iso.l1_loss(input, target, options(reduction, weight, size_average, reduce))


@offer("nn.functional.smooth_l1_loss")
def smooth_l1_loss(iso, input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    same_shapes(iso, input, target)
    return iso.smooth_l1_loss(input, target, beta, options(reduction, None, size_average, reduce))


@offer("nn.functional.huber_loss")
def huber_loss(iso, input, target, reduction="mean", delta=1.0, weight=None):
    same_shapes(iso, input, target)
    return iso.huber_loss(input, target, delta, options(reduction, weight))


@offer("nn.functional.poisson_nll_loss")
def poisson_nll_loss(iso, input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    return iso.poisson_nll_loss(input, target, rate=not log_input, full=full, eps=eps, loss=options(reduction))


@offer("nn.functional.gaussian_nll_loss")
def gaussian_nll_loss(iso, input, target, var, full=False, eps=1e-6, reduction="mean"):
    return iso.gaussian_nll_loss(input, target, var, full=full, eps=eps, loss=options(reduction))


@offer("nn.functional.soft_margin_loss")
def soft_margin_loss(iso, input, target, size_average=None, reduce=None, reduction="mean"):
    return iso.soft_margin_loss(input, target, options(reduction, None, size_average, reduce))


@offer("nn.functional.hinge_embedding_loss")
def hinge_embedding_loss(iso, input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    return iso.hinge_embedding_loss(input, target, margin, options(reduction))


@offer("nn.functional.margin_ranking_loss")
def margin_ranking_loss(iso, input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return iso.margin_ranking_loss(input1, input2, target, margin, options(reduction))


@offer("nn.functional.multi_margin_loss")
def multi_margin_loss(iso, input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    return iso.multi_margin_loss(input, target, margin, p=p, weights=weight, reduction=REDUCTIONS[reduction])


@offer("nn.functional.multilabel_margin_loss")
def multilabel_margin_loss(iso, input, target, size_average=None, reduce=None, reduction="mean"):
    return iso.multilabel_margin_loss(input, target, options(reduction))


@offer("nn.functional.multilabel_soft_margin_loss")
def multilabel_soft_margin_loss(iso, input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    return iso.multilabel_soft_margin_loss(input, target, options(reduction, weight))


@offer("nn.functional.cosine_similarity")
def cosine_similarity(iso, x1, x2, dim=1, eps=1e-8):
    return iso.cosine_similarity(x1, x2, dim, eps)


@offer("nn.functional.pairwise_distance")
def pairwise_distance(iso, x1, x2, p=2.0, eps=1e-6, keepdim=False):
    if p <= 0:
        raise Differs("p has to be positive.")
    return iso.pairwise_distance(x1, x2, p, eps, keepdim)


@offer("nn.functional.cosine_embedding_loss")
def cosine_embedding_loss(iso, input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return iso.cosine_embedding_loss(input1, input2, target, margin, options(reduction))


@offer("nn.functional.triplet_margin_loss", "nn.functional.triplet_margin_with_distance_loss")
def triplet_margin_loss(iso, anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean", distance_function=None):
    return iso.triplet_margin_loss(anchor, positive, negative, margin, p=p, eps=eps, swap=swap, loss=options(reduction))


@offer("nn.functional.ctc_loss")
def ctc_loss(iso, log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    def lengths(x):
        return x if hasattr(x, "handle") else iso.tensor(torch.tensor(x))

    # Behind log_softmax, where the DOC row says that both agree; the samples are normalised, so it changes no value.
    return iso.ctc_loss(iso.log_softmax(log_probs, 2), targets, lengths(input_lengths), lengths(target_lengths), blank=blank, zero_infinity=zero_infinity,
                        reduction=REDUCTIONS[reduction])
