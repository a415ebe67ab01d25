"""An epoch of GPyTorch's tutorial SVGP: M = 500, batches of 1,024 of 32,000 rows with 8 features, ELBO, Adam.

A case is {"dtype"}; the answer {"value"}: seconds an epoch. Batches are slices of a random permutation, which is
quicker than a DataLoader that collates single rows.
"""
import math
import time

import gpytorch
import torch

from serve import serve

N, D, M, BATCH = 32_000, 8, 500, 1024


class SVGP(gpytorch.models.ApproximateGP):
    def __init__(self, inducing):
        q = gpytorch.variational.CholeskyVariationalDistribution(inducing.size(0))
        super().__init__(gpytorch.variational.VariationalStrategy(self, inducing, q, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=D))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Training:
    def __init__(self, dtype):
        torch.manual_seed(1)
        self.x = (3.4 * torch.rand(N, D) - 1.7).to(dtype)
        self.y = torch.sin(self.x * torch.arange(1, D + 1)).sum(1) / math.sqrt(D) + 0.2 * torch.randn(N).to(dtype)
        self.model = SVGP(self.x[:M].clone()).to(dtype)
        self.likelihood = gpytorch.likelihoods.GaussianLikelihood().to(dtype)
        self.model.train()
        self.likelihood.train()
        self.elbo = gpytorch.mlls.VariationalELBO(self.likelihood, self.model, num_data=N)
        self.optimizer = torch.optim.Adam([*self.model.parameters(), *self.likelihood.parameters()], lr=0.01)
        self.steps(2)  # the first ones set up q

    def steps(self, count):
        order = torch.randperm(N)
        for i in range(count):
            rows = order[i * BATCH:(i + 1) * BATCH]
            self.optimizer.zero_grad()
            loss = -self.elbo(self.model(self.x[rows]), self.y[rows])
            loss.backward()
            self.optimizer.step()


trainings = {}


def answer(case):
    name = case["dtype"]
    if name not in trainings:
        trainings[name] = Training(getattr(torch, name))
    count = N // BATCH
    start = time.perf_counter()
    trainings[name].steps(count)
    return {"value": (time.perf_counter() - start) * N / (count * BATCH)}


serve(answer)
