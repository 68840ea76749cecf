"""The PyTorch twins of Isobit's vision models: the same layers, shapes and hyper-parameters on both sides.

bench/README.md states the layers; each worker reports its number of parameters, and the harness refuses to compare two
sides whose numbers differ.
"""

import torch
from torch import nn

# name -> (channels, height, width) of the input
INPUTS = {"mlp": (1, 28, 28), "cnn": (1, 28, 28), "resnet8": (1, 28, 28), "resnet18": (3, 32, 32),
          "resnet18_imagenet": (3, 224, 224), "resnet50": (3, 224, 224), "mobilenet": (3, 224, 224)}
N_CLASSES = 10
VOCABULARY = 10000  # of textclassifier


def conv_bn(c_in, c_out, kernel, stride=1, groups=1):
    conv = nn.Conv2d(c_in, c_out, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(c_out))


class BasicBlock(nn.Module):
    """relu(bn(conv(relu(bn(conv(x))))) + shortcut(x)), both kernels 3x3; a 1x1 projection where the shape changes."""

    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.first = conv_bn(c_in, c_out, 3, stride)
        self.second = conv_bn(c_out, c_out, 3)
        self.relu = nn.ReLU(inplace=True)
        same = stride == 1 and c_in == c_out
        self.shortcut = nn.Identity() if same else conv_bn(c_in, c_out, 1, stride)

    def forward(self, x):
        y = self.second(self.relu(self.first(x)))
        y += self.shortcut(x)
        return self.relu(y)


class Bottleneck(nn.Module):
    def __init__(self, c_in, width, stride):
        super().__init__()
        self.first, self.second = conv_bn(c_in, width, 1), conv_bn(width, width, 3, stride)
        self.third, self.relu = conv_bn(width, 4 * width, 1), nn.ReLU(inplace=True)
        self.shortcut = nn.Identity() if stride == 1 and c_in == 4 * width else conv_bn(c_in, 4 * width, 1, stride)

    def forward(self, x):
        y = self.third(self.relu(self.second(self.relu(self.first(x)))))
        y += self.shortcut(x)
        return self.relu(y)


def resnet50(c_in):
    layers, c = [conv_bn(c_in, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        for block in range(blocks):
            layers.append(Bottleneck(c, 64 << stage, 2 if stage > 0 and block == 0 else 1))
            c = 256 << stage
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, N_CLASSES))


def resnet(c_in, widths, blocks_per_stage, imagenet=False):
    """A 3x3 stem (CIFAR style) or a 7x7 one of stride 2 and a max pool; stages of basic blocks with strides 1, 2, 2 ...,
    global average, linear."""
    layers = [conv_bn(c_in, widths[0], 7 if imagenet else 3, 2 if imagenet else 1), nn.ReLU(inplace=True)]
    layers += [nn.MaxPool2d(3, 2, 1)] if imagenet else []
    c = widths[0]
    for stage, width in enumerate(widths):
        for block in range(blocks_per_stage):
            layers.append(BasicBlock(c, width, 2 if stage > 0 and block == 0 else 1))
            c = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, N_CLASSES))


# (channels, stride) of the separable blocks of MobileNet (Howard et al., 2017)
SEPARABLE = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *((512, 1),) * 5, (1024, 2), (1024, 1))


def mobilenet(c_in):
    """A 3x3 stem of stride 2; blocks of a depthwise 3x3 and a 1x1 convolution, relu(bn(·)) after each; average, linear."""
    layers, c = [conv_bn(c_in, 32, 3, 2), nn.ReLU(inplace=True)], 32
    for width, stride in SEPARABLE:
        layers += [conv_bn(c, c, 3, stride, groups=c), nn.ReLU(inplace=True), conv_bn(c, width, 1), nn.ReLU(inplace=True)]
        c = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, N_CLASSES))


class TextClassifier(nn.Module):
    """Token ids (batch, length) -> mean of the rows of all that are not 0 -> linear."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(VOCABULARY, 128, mode="mean", padding_idx=0)
        self.linear = nn.Linear(128, N_CLASSES)

    def forward(self, ids):
        return self.linear(self.embedding(ids))


def mlp(*widths):
    layers = [nn.Flatten()]
    for i in range(len(widths) - 1):
        layers.append(nn.Linear(widths[i], widths[i + 1]))
        if i + 2 < len(widths):
            layers.append(nn.ReLU(inplace=True))
    return nn.Sequential(*layers)


def cnn():
    return nn.Sequential(
        nn.Conv2d(1, 32, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(inplace=True), nn.Linear(128, N_CLASSES))


def build(name):
    if name == "mlp":
        return mlp(784, 256, 128, N_CLASSES)
    if name == "cnn":
        return cnn()
    if name == "resnet8":
        return resnet(INPUTS[name][0], (16, 32, 64), 1)
    if name == "resnet18":
        return resnet(INPUTS[name][0], (64, 128, 256, 512), 2)
    if name == "resnet18_imagenet":
        return resnet(INPUTS[name][0], (64, 128, 256, 512), 2, imagenet=True)
    if name == "resnet50":
        return resnet50(INPUTS[name][0])
    if name == "mobilenet":
        return mobilenet(INPUTS[name][0])
    if name == "textclassifier":
        return TextClassifier()
    raise ValueError(f"unknown model {name}: one of {', '.join(INPUTS)}")


def sgd(model, fused):
    return torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4, fused=fused)
