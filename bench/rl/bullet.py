"""CartPole on PyBullet, with the model that PyBullet brings: an environment of gymnasium's kind."""

import gymnasium
import numpy as np
import pybullet
import pybullet_data


class CartPole(gymnasium.Env):
    """One continuous action: the force on the cart, in units of 10 N."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def __init__(self):
        self.client = pybullet.connect(pybullet.DIRECT)
        pybullet.setGravity(0, 0, -9.8, self.client)
        self.body = pybullet.loadURDF(f"{pybullet_data.getDataPath()}/cartpole.urdf",
                                      physicsClientId=self.client)
        for joint in (0, 1):  # they hold still by a motor unless told otherwise
            pybullet.setJointMotorControl2(self.body, joint, pybullet.VELOCITY_CONTROL, force=0,
                                           physicsClientId=self.client)

    def _state(self):
        return np.array([value for joint in (0, 1) for value in pybullet.getJointState(
            self.body, joint, self.client)[:2]], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        for joint in (0, 1):
            pybullet.resetJointState(self.body, joint, *self.np_random.uniform(-0.05, 0.05, 2),
                                     physicsClientId=self.client)
        return self._state(), {}

    def step(self, action):
        pybullet.setJointMotorControl2(self.body, 0, pybullet.TORQUE_CONTROL,
                                       force=10.0 * float(action[0]), physicsClientId=self.client)
        for _ in range(4):
            pybullet.stepSimulation(self.client)
        self.steps += 1
        state = self._state()
        fell = abs(state[0]) > 2.4 or abs(state[2]) > 0.2095
        return state, 1.0, bool(fell), self.steps >= 200, {}
