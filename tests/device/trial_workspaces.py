"""A small DCGAN (Radford et al., 2015), trained for some steps with cudnn.benchmark, so that cuDNN tries algorithms
whose workspaces are far larger than all tensors. It made tests/data/trial_workspaces.sluice on an H200:

    sluice record --mode memory -o trial_workspaces.sluice -- python3 tests/device/trial_workspaces.py
"""
import torch, torch.nn as nn
torch.backends.cudnn.benchmark = True
nz, ngf, ndf, nc, batch = 100, 64, 64, 3, 64
def gen():
    l = []
    for i, o, s, p in [(nz, ngf*8, 1, 0), (ngf*8, ngf*4, 2, 1), (ngf*4, ngf*2, 2, 1), (ngf*2, ngf, 2, 1)]:
        l += [nn.ConvTranspose2d(i, o, 4, s, p, bias=False), nn.BatchNorm2d(o), nn.ReLU(True)]
    return nn.Sequential(*l, nn.ConvTranspose2d(ngf, nc, 4, 2, 1, bias=False), nn.Tanh())
def dis():
    l = [nn.Conv2d(nc, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)]
    for i, o in [(ndf, ndf*2), (ndf*2, ndf*4), (ndf*4, ndf*8)]:
        l += [nn.Conv2d(i, o, 4, 2, 1, bias=False), nn.BatchNorm2d(o), nn.LeakyReLU(0.2, True)]
    return nn.Sequential(*l, nn.Conv2d(ndf*8, 1, 4, 1, 0, bias=False), nn.Sigmoid())
G, D = gen().cuda(), dis().cuda()
og, od = (torch.optim.Adam(m.parameters(), lr=2e-4, betas=(0.5, 0.999)) for m in (G, D))
loss = nn.BCELoss()
for step in range(12):
    real = torch.randn(batch, nc, 64, 64, device="cuda")
    ones, zeros = torch.ones(batch, device="cuda"), torch.zeros(batch, device="cuda")
    D.zero_grad(); loss(D(real).view(-1), ones).backward()
    fake = G(torch.randn(batch, nz, 1, 1, device="cuda"))
    loss(D(fake.detach()).view(-1), zeros).backward(); od.step()
    G.zero_grad(); loss(D(fake).view(-1), ones).backward(); og.step()
torch.cuda.synchronize()
print("done", torch.cuda.max_memory_allocated())
