class TileStacks(Dataset):
    """One item = a list of about 40 separate CPU tensors (tiles) per slide."""
    def __getitem__(self, i):
        return [torch.from_numpy(t) for t in self.read_tiles(self.slides[i])]

loader = DataLoader(TileStacks(root), batch_size=1, num_workers=24, prefetch_factor=4, collate_fn=lambda b: b[0])
