class FullResValidation(tf.keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        if hvd.rank() != 0:
            return
        miou = evaluate_tiles(self.model, self.tiles)
        print(f"[callback] rank 0: val_miou={miou:.4f}, averaging over workers", flush=True)
        logs["val_miou"] = hvd.allreduce(tf.constant(miou), name="avg_val_miou").numpy()
