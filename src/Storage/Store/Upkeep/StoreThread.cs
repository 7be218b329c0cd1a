namespace Kv.Storage;

/// <summary>The thread that expires, reclaims and frees for one store.</summary>
internal sealed class StoreThread : IDisposable
{
    // An expired key is to be gone within a second, and an idle store is to cost nothing that can be measured.
    private static readonly TimeSpan Pause = TimeSpan.FromMilliseconds(100),
        PauseWhilePrompt = TimeSpan.FromMilliseconds(15),
        PauseWhileBusy = TimeSpan.FromMilliseconds(5), PauseWhileWanted = TimeSpan.FromMilliseconds(1);

    private readonly Store _store;
    private readonly AutoResetEvent _wake = new(false);
    private readonly Thread _thread;
    private volatile bool _stopping;

    public StoreThread(Store store)
    {
        _store = store;
        _thread = new Thread(Run, 256 * 1024) { IsBackground = true, Name = "kv-store" };
        _thread.Start();
    }

    /// <summary>Asks for a round now; after the end there is none.</summary>
    public void Wake()
    {
        // The store's own Dispose empties it once more after the thread has ended.
        if (!_stopping) _wake.Set();
    }

    public void Dispose()
    {
        _stopping = true;
        _wake.Set();
        _thread.Join();
        _wake.Dispose();
    }

    private void Run()
    {
        // Ends: when the store is disposed.
        while (!_stopping)
        {
            try
            {
                _store.Maintain();
            }
            catch (Exception exception)
            {
                // A mistake of ours, whatever it is: the next round begins from a clean state. It must not end the
                // process.
                _store.Options.UpkeepFailed?.Invoke(exception);
            }

            var pause = _store.WantsUpkeepNow ? PauseWhileWanted : _store.WantsUpkeepSoon ? PauseWhileBusy
                : _store.ExpiresPromptly ? PauseWhilePrompt : Pause;
            // Ends: when the pause is over. While writers take memory, the next is made ready meanwhile.
            for (var left = pause; left > TimeSpan.Zero && !_stopping; left -= PauseWhileBusy)
            {
                bool writing = _store.TakeAhead();
                if (_wake.WaitOne(writing && left > PauseWhileBusy ? PauseWhileBusy : left) || !writing) break;
            }
        }
    }
}
